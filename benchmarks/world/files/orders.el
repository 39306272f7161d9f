;;; orders.el --- Reads orders  -*- lexical-binding: t; -*-

;;; Commentary:
;; It writes none.

;;; Code:

(require 'cl-lib)

(defgroup orders nil
  "Orders of a shop."
  :group 'tools)

(defcustom orders-file "~/orders.csv"
  "Where they lie.
; no comment"
  :type 'file
  :group 'orders)

(defun orders-open ()
  "Return those that are open."
  (interactive)
  (let ((found nil))
    (with-temp-buffer
      (insert-file-contents orders-file)
      (while (re-search-forward "open$" nil t)
        (push (line-number-at-pos) found)))
    (nreverse found)))

(define-minor-mode orders-mode
  "Shows orders."
  :lighter " Orders"
  (if orders-mode
      (add-hook 'find-file-hook #'orders-open)
    (remove-hook 'find-file-hook #'orders-open)))

(provide 'orders)
;;; orders.el ends here
