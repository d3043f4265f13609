;;; ferrotile.el --- cuTile kernels in Python to cuTile Rust  -*- lexical-binding: t; -*-

;; Author: the ferrotile authors
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1") (eglot "1.9"))
;; Keywords: languages, tools
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; M-x ferrotile starts the server for this buffer.  Then there are M-x ferrotile-verify,
;; ferrotile-run, ferrotile-preview, ferrotile-translate and ferrotile-cancel, beside all that eglot has.
;;
;; Eglot has one server for a buffer, so `ferrotile' takes the place of another Python server in
;; its project; M-x eglot-shutdown ends it.

;;; Code:

(require 'cl-lib)
(require 'eglot)
(require 'project)

(defgroup ferrotile nil
  "Kernels in Python to cuTile Rust."
  :group 'tools)

(defcustom ferrotile-command '("ferrotile" "server")
  "The program that serves, and its arguments."
  :type '(repeat string)
  :risky t)

(defcustom ferrotile-trusted nil
  "Folders whose kernels `ferrotile-verify' and `ferrotile-run' may run.
Nothing else is ever run."
  :type '(repeat directory)
  :risky t)

(defcustom ferrotile-settings nil
  "`:target', `:unsafe' and `:checks' of docs/guide.md, as a property list."
  :type 'plist)

(defclass ferrotile-server (eglot-lsp-server) ()
  :documentation "A connection to ferrotile.")

(defconst ferrotile--cancelled -32800 "The error of a request that was cancelled.")

(defconst ferrotile--token "ferrotile" "The progress of a verification; what cancels it.")

(defun ferrotile--trusted-p (folder)
  "Whether FOLDER lies in one of `ferrotile-trusted', all links followed."
  (let ((real (file-truename folder)))
    (cl-some (lambda (named) (file-in-directory-p real (file-truename named))) ferrotile-trusted)))

(defun ferrotile--root (server)
  "The folder that SERVER serves."
  (project-root (eglot--project server)))

(cl-defmethod eglot-initialization-options ((server ferrotile-server))
  "Trust and settings for SERVER."
  (list :workspaceTrusted (if (ferrotile--trusted-p (ferrotile--root server)) t :json-false)
        :settings (or ferrotile-settings (make-hash-table))))

(cl-defmethod eglot-client-capabilities ((_server ferrotile-server))
  "As eglot's own, and documents can be shown."
  (let ((all (copy-tree (cl-call-next-method))))
    (plist-put all :window (plist-put (plist-get all :window) :showDocument '(:support t)))))

(cl-defmethod eglot-handle-request
  ((_server ferrotile-server) (_method (eql window/showDocument)) &key uri &allow-other-keys)
  "Show the file URI in another window.
The buffer follows the file, as a preview's file follows the Python."
  (with-current-buffer (find-file-noselect (ferrotile--path uri))
    (unless (or (buffer-modified-p) (verify-visited-file-modtime (current-buffer)))
      (revert-buffer t t))
    (setq-local auto-revert-verbose nil)
    (auto-revert-mode 1)
    (display-buffer (current-buffer))
    '(:success t)))

;;;###autoload
(defun ferrotile ()
  "Start ferrotile for the project of this buffer."
  (interactive)
  (let ((eglot-server-programs (list (cons (list major-mode) (cons 'ferrotile-server ferrotile-command)))))
    (call-interactively #'eglot)))

(defun ferrotile--server ()
  "The server of this buffer, which must be ferrotile."
  (let ((server (eglot-current-server)))
    (unless (ferrotile-server-p server)
      (user-error "No ferrotile here: M-x ferrotile starts it"))
    (eglot--signal-textDocument/didChange)
    server))

(defun ferrotile--place ()
  "The address of this buffer's file, and where point is in it."
  (let ((place (eglot--TextDocumentPositionParams)))
    (append (list :uri (plist-get (plist-get place :textDocument) :uri)) (plist-get place :position))))

(defun ferrotile--path (uri)
  "The file that URI names."
  (funcall (if (fboundp 'eglot-uri-to-path) #'eglot-uri-to-path #'eglot--uri-to-path) uri))

(defun ferrotile--kernel (server)
  "The name of the kernel at point, as SERVER knows it; nil where there is none."
  (plist-get (jsonrpc-request server :ferrotile/previewUri (ferrotile--place)) :kernel))

(defun ferrotile--execute (server command &rest arguments)
  "The answer of SERVER to COMMAND with this file and ARGUMENTS."
  (jsonrpc-request server :workspace/executeCommand
                   (list :command command :arguments (vconcat (list (plist-get (ferrotile--place) :uri)) arguments))))

(defun ferrotile-preview ()
  "Show the Rust of the kernel at point, or of the file, beside the Python.
It follows what is typed."
  (interactive)
  (let ((server (ferrotile--server)))
    (ferrotile--execute server "ferrotile.server.preview" (ferrotile--kernel server))))

(defun ferrotile-translate ()
  "Write the Rust of all kernels beside the Python file, and show it."
  (interactive)
  (ferrotile--execute (ferrotile--server) "ferrotile.server.translate"))

(defun ferrotile-verify ()
  "Verify the kernel at point, or all kernels of the file.
The verdict stays as a diagnostic at the kernel's name."
  (interactive)
  (ferrotile--start :ferrotile/verify "Verifying"))

(defun ferrotile-run ()
  "Run the kernel at point and its translation on the same inputs.
On the GPU if there is one, else in the simulator; not at a kernel,
all kernels of the file."
  (interactive)
  (ferrotile--start :ferrotile/run "Running"))

(defun ferrotile--start (method doing)
  "Ask for METHOD, and say DOING meanwhile."
  (let* ((server (ferrotile--server)) (root (ferrotile--root server)) (kernel (ferrotile--kernel server)))
    (unless (ferrotile--trusted-p root)
      (user-error "%s is not in `ferrotile-trusted', so its kernels are not run" root))
    (message "%s %s..." doing (or kernel (buffer-name)))
    (jsonrpc-async-request
     server method
     (append (list :uri (plist-get (ferrotile--place) :uri) :workDoneToken ferrotile--token)
             (and kernel (list :kernel kernel)))
     :timeout 3600
     :success-fn (lambda (result) (message "%s" (ferrotile--verdicts result)))
     :error-fn (lambda (problem)
                 (if (eql (plist-get problem :code) ferrotile--cancelled)
                     (message "Verification cancelled")
                   (message "ferrotile: %s" (plist-get problem :message)))))))

(defun ferrotile--verdicts (result)
  "The verdicts of RESULT in one line."
  (mapconcat (lambda (kernel) (format "%s: %s" (plist-get kernel :name) (plist-get kernel :verdict)))
             (plist-get result :kernels) "; "))

(defun ferrotile-cancel ()
  "End the verification that runs, and the compilers that it started."
  (interactive)
  (jsonrpc-notify (ferrotile--server) :window/workDoneProgress/cancel (list :token ferrotile--token)))

(provide 'ferrotile)
;;; ferrotile.el ends here
