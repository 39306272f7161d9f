# The prompt of the shell.
function fish_prompt --description 'Write the prompt'
    set -l last $status
    set -l color normal
    if test $last -ne 0
        set color red
    end
    printf '%s%s%s> ' \
        (set_color $color) \
        (prompt_pwd) \
        (set_color normal)
end

function back
    switch (count $argv)
        case 0
            cd -
        case '*'
            for i in (seq $argv[1])
                cd ..
            end
    end
end
set -gx EDITOR vim
