;;; support.el --- what the scripts share  -*- lexical-binding: t; -*-
;; They do what a user does, and write down what Emacs shows.
(require 'cl-lib)
(require 'json)

(setq make-backup-files nil auto-save-default nil create-lockfiles nil
      eglot-sync-connect 60 eglot-connect-timeout 60
      auto-revert-use-notify nil        ; in batch, no notice is read
      last-nonmenu-event ?a)            ; else eglot thinks of a mouse

(defvar t/seen nil "What was seen, by name.")

(defun t/see (name value)
  "Write down VALUE under NAME."
  (push (cons name value) t/seen)
  value)

(defun t/idle ()
  "What Emacs does when nothing is typed; in batch it never idles."
  (when (bound-and-true-p eglot--managed-mode)
    (eglot--signal-textDocument/didChange)
    (flymake-start))
  (accept-process-output nil 0.05))

(defun t/eventually (what get &optional seconds)
  "Wait until GET gives something; WHAT says what for."
  (let ((end (+ (float-time) (or seconds 60))) found)
    (while (not (or (setq found (funcall get)) (> (float-time) end)))
      (t/idle))
    (or found (error "Never: %s; diagnostics: %S; messages: %s" what (t/diagnostics) (t/messages)))))

(defun t/messages ()
  "All that Emacs said."
  (with-current-buffer (messages-buffer) (buffer-string)))

(defun t/open (name)
  "Visit file NAME of the workspace, in the selected window."
  (switch-to-buffer (find-file-noselect (expand-file-name name (getenv "WORKSPACE"))))
  (goto-char (point-min)))

(defun t/diagnostics ()
  "What Flymake shows in this buffer: the text under it, its kind and its message."
  (mapcar (lambda (one)
            `((text . ,(buffer-substring-no-properties (flymake-diagnostic-beg one) (flymake-diagnostic-end one)))
              (type . ,(symbol-name (flymake-diagnostic-type one)))
              (message . ,(flymake-diagnostic-text one))))
          (sort (flymake-diagnostics) (lambda (a b) (< (flymake-diagnostic-beg a) (flymake-diagnostic-beg b))))))

(defun t/saying (part)
  "The shown diagnostics whose message holds PART."
  (cl-remove-if-not (lambda (one) (string-match-p (regexp-quote part) (alist-get 'message one))) (t/diagnostics)))

(defun t/go-to (text)
  "Put point where TEXT begins."
  (goto-char (point-min))
  (search-forward text)
  (goto-char (match-beginning 0)))

(defun t/hover ()
  "What ElDoc says at point."
  (let (said)
    (eglot-hover-eldoc-function (lambda (text &rest _) (setq said (or text "nothing"))))
    (substring-no-properties (t/eventually "hover" (lambda () said)))))

(defun t/code-action (chosen)
  "The titles of the menu of code actions at point; the one that begins with CHOSEN is taken."
  (let (titles)
    (cl-letf (((symbol-function 'completing-read)
               (lambda (_prompt items &rest _)
                 (setq titles (mapcar #'car items))
                 (or (cl-find-if (lambda (title) (string-prefix-p chosen title)) titles)
                     (error "No %s in %S" chosen titles)))))
      (eglot-code-actions (point) nil nil t))
    (vconcat titles)))

(defun t/shown (buffer)
  "The text of BUFFER if a window shows it, else nil."
  (and buffer (get-buffer-window buffer) (with-current-buffer buffer (buffer-string))))

(defun t/run (steps)
  "Run STEPS; what was seen, and the error if there was one, is left in a file."
  (let ((failed nil))
    (condition-case problem (funcall steps) (error (setq failed (error-message-string problem))))
    (let ((coding-system-for-write 'utf-8))
      (with-temp-file (getenv "REPORT")
        (insert (json-encode `((seen . ,t/seen) (error . ,failed) (messages . ,(t/messages)))))))
    (kill-emacs 0)))

(provide 'support)
;;; support.el ends here
