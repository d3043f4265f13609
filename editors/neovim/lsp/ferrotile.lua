-- What `vim.lsp.enable("ferrotile")` starts.
return require("ferrotile").config()
