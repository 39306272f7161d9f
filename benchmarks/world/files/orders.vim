" Shows orders.
if exists('g:loaded_orders')
  finish
endif
let g:loaded_orders = 1

function! s:Open(file) abort
  let l:found = []
  for l:line in readfile(a:file)
    if l:line =~# 'open$'
      call add(l:found, l:line)
    endif
  endfor
  return l:found
endfunction

command! -nargs=1 -complete=file Orders
      \ echo join(
      \   s:Open(<f-args>),
      \   "\n")

let s:text =<< trim END
  first line
  " no comment
END

augroup orders
  autocmd!
  autocmd BufRead *.orders setlocal filetype=csv
augroup END
nnoremap <silent> <leader>o :Orders %<CR>
