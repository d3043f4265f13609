-- Neovim's own client, with the short configuration of docs/editors.md and nothing else.
package.path = vim.env.SCRIPTS .. "/?.lua;" .. package.path
local t = require("support")
local api = vim.api

t.run(function()
  local client = t.open("refused.py")
  t.see("initialize", client.capabilities)
  t.eventually("diagnostics", function()
    return #vim.diagnostic.get(0) >= 3
  end)
  t.see("refused", t.diagnostics())

  t.open("softmax.py")
  t.settle()
  t.go_to("softmax(x")
  t.see("hover", t.hover())
  t.see("actions", t.code_action("Preview Rust"))
  t.eventually("the preview", function()
    return #api.nvim_list_wins() == 2
  end)
  local preview = vim.tbl_filter(function(window)
    return window ~= api.nvim_get_current_win()
  end, api.nvim_list_wins())[1]
  local buffer = api.nvim_win_get_buf(preview)
  t.see("preview", table.concat(api.nvim_buf_get_lines(buffer, 0, -1, false), "\n"))

  -- The file follows the Python; Neovim loads it again when it looks.
  t.replace("ct.exp(", "ct.exp2(")
  t.eventually("the file to follow", function()
    vim.cmd.checktime(buffer)
    return table.concat(api.nvim_buf_get_lines(buffer, 0, -1, false), "\n"):find("exp2(", 1, true)
  end)
  client:exec_cmd({ command = "ferrotile.server.verify", arguments = { vim.uri_from_bufnr(0), "softmax" } })
  t.see("not trusted", t.eventually("a refusal", function()
    local said = t.messages()
    return #said > 0 and said[#said]:find("trusted", 1, true) and said[#said]
  end))
end)
