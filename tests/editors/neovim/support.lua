-- What the scripts share: they do what a user does, and write down what Neovim shows.
local api = vim.api
local M = {}

local seen, order = {}, {}

--- Write down what is seen, under a name.
function M.see(name, value)
  seen[name] = value
  table.insert(order, name)
end

--- Wait until `get` gives something true; that, or an error which names what never came.
function M.eventually(what, get, seconds)
  local found
  local ok = vim.wait((seconds or 60) * 1000, function()
    found = get()
    return found
  end, 20)
  if not ok then
    error(("never: %s; last %s; messages: %s"):format(what, vim.inspect(found), vim.inspect(M.messages())))
  end
  return found
end

--- Nothing more happens for a moment: what would be wrong has had its chance to come.
function M.settle()
  vim.wait(300)
end

local notices = {}
vim.notify = function(message)
  table.insert(notices, message)
end
vim.notify_once = vim.notify

--- All that Neovim said to the user.
function M.messages()
  local said = vim.split(vim.trim(vim.fn.execute("messages")), "\n", { trimempty = true })
  return vim.list_extend(said, notices)
end

--- Open a file of the workspace, and wait for its server.
function M.open(name)
  vim.cmd.edit(vim.env.WORKSPACE .. "/" .. name)
  return M.eventually("a server for " .. name, function()
    return vim.lsp.get_clients({ bufnr = 0, name = "ferrotile" })[1]
  end)
end

--- The diagnostics as they stand in the buffer: text under each, severity, source, code and message.
function M.diagnostics()
  return vim.tbl_map(function(d)
    local text = api.nvim_buf_get_text(0, d.lnum, d.col, d.end_lnum, d.end_col, {})
    local severity = vim.diagnostic.severity[d.severity]
    local signs = vim.diagnostic.config().signs
    return { text = table.concat(text, "\n"), severity = severity, source = d.source, code = d.code, message = d.message, line = d.lnum, sign = signs ~= false }
  end, vim.diagnostic.get(0))
end

--- Virtual texts of the namespaces whose name begins with `prefix`: line number from 0, and the text.
function M.virtual(prefix)
  vim.cmd("redraw!") -- inlay hints are drawn only with the screen
  local found = {}
  for name, space in pairs(api.nvim_get_namespaces()) do
    if vim.startswith(name, prefix) then
      for _, mark in ipairs(api.nvim_buf_get_extmarks(0, space, 0, -1, { details = true })) do
        local text = ""
        for _, chunk in ipairs(mark[4].virt_text or {}) do
          text = text .. chunk[1]
        end
        table.insert(found, { line = mark[2], column = mark[3], text = text })
      end
    end
  end
  table.sort(found, function(a, b)
    return a.line < b.line or (a.line == b.line and a.column < b.column)
  end)
  return found
end

--- The lens of the line that holds `text`, as one string; nil where there is none.
function M.lens(text)
  local line = M.find(text) - 1
  for _, mark in ipairs(M.virtual("nvim.lsp.codelens")) do
    if mark.line == line then
      return mark.text
    end
  end
end

--- Lines whose background says that they match.
function M.marked(bufnr)
  local space = api.nvim_get_namespaces()["ferrotile.preview"]
  return vim.tbl_map(function(mark)
    return api.nvim_buf_get_lines(bufnr, mark[2], mark[2] + 1, false)[1]
  end, api.nvim_buf_get_extmarks(bufnr, space, 0, -1, {}))
end

--- The number, from 1, of the first line that holds `text`, and where in it.
function M.find(text)
  for number, line in ipairs(api.nvim_buf_get_lines(0, 0, -1, false)) do
    local column = line:find(text, 1, true)
    if column then
      return number, column - 1
    end
  end
  error("no line holds " .. text)
end

--- Move the cursor, as a key would. Headless Neovim has no main loop that would say so.
function M.go_to(text)
  api.nvim_win_set_cursor(0, { M.find(text) })
  api.nvim_exec_autocmds("CursorMoved", { buffer = 0 })
end

--- Change lines, as typing would.
function M.replace(old, new)
  local number = M.find(old)
  local line = api.nvim_buf_get_lines(0, number - 1, number, false)[1]
  local first, last = line:find(old, 1, true)
  api.nvim_buf_set_lines(0, number - 1, number, false, { line:sub(1, first - 1) .. new .. line:sub(last + 1) })
  api.nvim_exec_autocmds("TextChanged", { buffer = 0 })
end

--- The text of the hover window at the cursor; it is closed again.
function M.hover()
  vim.lsp.buf.hover()
  local window = M.eventually("hover", function()
    local window = vim.b.lsp_floating_preview
    return window and api.nvim_win_is_valid(window) and window
  end)
  local text = table.concat(api.nvim_buf_get_lines(api.nvim_win_get_buf(window), 0, -1, false), "\n")
  api.nvim_win_close(window, true)
  return text
end

--- The menu of code actions at the cursor: its titles. The one that begins with `chosen` is taken.
function M.code_action(chosen)
  local titles
  local select = vim.ui.select
  vim.ui.select = function(items, options, on_choice)
    titles = vim.tbl_map(options.format_item, items)
    local index
    for i, title in ipairs(titles) do
      index = index or (chosen and vim.startswith(title, chosen) and i)
    end
    on_choice(items[index], index)
  end
  vim.lsp.buf.code_action()
  M.eventually("the menu of code actions", function()
    return titles
  end)
  vim.ui.select = select
  return titles
end

--- Run the steps; what was seen, and the error if there was one, is left in a file.
function M.run(steps)
  local ok, err = xpcall(steps, debug.traceback)
  local report = { seen = seen, order = order, error = not ok and err or nil, messages = M.messages() }
  local file = assert(io.open(vim.env.REPORT, "w"))
  file:write(vim.json.encode(report))
  file:close()
  vim.cmd("qa!")
end

return M
