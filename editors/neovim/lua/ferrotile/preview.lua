--- The preview: a read-only buffer of Rust that follows the Python, with matching lines marked on both sides.
---
--- The buffer's name is the preview's own address, `ferrotile-rs:/NAME.rs?uri=...`, so that jumps to it find it.
local api = vim.api

local M = {}

local MARKS = api.nvim_create_namespace("ferrotile.preview")
local PATTERN = "ferrotile-rs:/*" -- without a slash only the tail of a name would be matched

api.nvim_set_hl(0, "FerrotileMatch", { link = "Visual", default = true })

local maps = {} --- preview's buffer -> rows { python first, last, rust first, last }, from 0

--- The Python buffer of a preview, and the client that knows it.
local function source_of(bufnr)
  local encoded = api.nvim_buf_get_name(bufnr):match("[?&]uri=([^&]+)")
  if not encoded then
    return nil
  end
  local source = vim.uri_to_bufnr(vim.uri_decode(encoded))
  return source, vim.lsp.get_clients({ name = "ferrotile", bufnr = source })[1]
end

local function previews_of(source)
  return vim.tbl_filter(function(bufnr)
    return source_of(bufnr) == source
  end, vim.tbl_keys(maps))
end

local function mark(bufnr, first, last)
  api.nvim_buf_clear_namespace(bufnr, MARKS, 0, -1)
  for line = first or 0, last or -1 do
    if line < api.nvim_buf_line_count(bufnr) then
      api.nvim_buf_set_extmark(bufnr, MARKS, line, 0, { line_hl_group = "FerrotileMatch" })
    end
  end
end

--- Scroll a window as little as needed to show a line; its cursor comes along.
local function reveal(bufnr, line)
  for _, window in ipairs(vim.fn.win_findbuf(bufnr)) do
    if window ~= api.nvim_get_current_win() and line < api.nvim_buf_line_count(bufnr) then
      api.nvim_win_set_cursor(window, { line + 1, 0 })
    end
  end
end

--- The row for a line of one side: the one with the fewest lines of Python.
local function row_at(bufnr, line, first, last)
  local best
  for _, row in ipairs(maps[bufnr] or {}) do
    if row[first] <= line and line <= row[last] and (not best or row[2] - row[1] < best[2] - best[1]) then
      best = row
    end
  end
  return best
end

local function match_from_rust(bufnr)
  local source = source_of(bufnr)
  local row = row_at(bufnr, api.nvim_win_get_cursor(0)[1] - 1, 3, 4)
  if source then
    mark(bufnr)
    mark(source, row and row[1], row and row[2])
    if row then
      reveal(source, row[1])
    end
  end
end

local function match_from_python(source)
  mark(source)
  for _, bufnr in ipairs(previews_of(source)) do
    local row = row_at(bufnr, api.nvim_win_get_cursor(0)[1] - 1, 1, 2)
    mark(bufnr, row and row[3], row and row[4])
    if row then
      reveal(bufnr, row[3])
    end
  end
end

local function go_to_python(bufnr)
  local source, client = source_of(bufnr)
  if not client then
    return
  end
  local params = {
    textDocument = { uri = api.nvim_buf_get_name(bufnr) },
    position = { line = api.nvim_win_get_cursor(0)[1] - 1, character = 0 },
  }
  client:request("textDocument/definition", params, function(err, found)
    local place = not err and found and (found[1] or found)
    if place then
      vim.lsp.util.show_document(place, client.offset_encoding, { reuse_win = true, focus = true })
    end
  end, source)
end

local function load_map(bufnr, client, source)
  local kernel = api.nvim_buf_get_name(bufnr):match("[?&]kernel=([^&]+)")
  local params = { uri = vim.uri_from_bufnr(source), kernel = kernel and vim.uri_decode(kernel) }
  client:request("ferrotile/lines", params, function(err, result)
    if not err and maps[bufnr] then
      maps[bufnr] = result.lines
    end
  end, source)
end

--- Ask for the text of a preview, and show it.
local function fill(bufnr)
  local source, client = source_of(bufnr)
  if not client then
    return
  end
  client:request("workspace/textDocumentContent", { uri = api.nvim_buf_get_name(bufnr) }, function(err, result)
    if err or not api.nvim_buf_is_loaded(bufnr) then
      return
    end
    local lines = vim.split((result.text:gsub("\n$", "")), "\n")
    if not vim.deep_equal(lines, api.nvim_buf_get_lines(bufnr, 0, -1, false)) then
      vim.bo[bufnr].modifiable = true
      api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
      vim.bo[bufnr].modifiable = false
    end
    load_map(bufnr, client, source)
  end, source)
end

local function prepare(bufnr)
  local settings = { buftype = "nofile", bufhidden = "hide", swapfile = false, modifiable = false, filetype = "rust" }
  for name, value in pairs(settings) do
    vim.bo[bufnr][name] = value
  end
  maps[bufnr] = maps[bufnr] or {}
  vim.keymap.set("n", "gd", function()
    go_to_python(bufnr)
  end, { buffer = bufnr, desc = "To the Python that made this line" })
  fill(bufnr)
end

local group = api.nvim_create_augroup("ferrotile.preview", {})
api.nvim_create_autocmd("BufReadCmd", {
  group = group,
  pattern = PATTERN,
  callback = function(event)
    prepare(event.buf)
  end,
})
api.nvim_create_autocmd("BufWinEnter", {
  group = group,
  pattern = PATTERN,
  callback = function(event)
    vim.wo.statusline = event.file:match("/([^/?]+)") .. " (preview)"
  end,
})
api.nvim_create_autocmd("CursorMoved", {
  group = group,
  pattern = PATTERN,
  callback = function(event)
    match_from_rust(event.buf)
  end,
})
api.nvim_create_autocmd("BufWipeout", {
  group = group,
  pattern = PATTERN,
  callback = function(event)
    local source = source_of(event.buf)
    maps[event.buf] = nil
    if source then
      mark(source)
    end
  end,
})

--- Mark matching lines as the cursor moves in a Python buffer.
function M.follow(source)
  api.nvim_create_autocmd("CursorMoved", {
    group = api.nvim_create_augroup("ferrotile.preview." .. source, {}),
    buffer = source,
    callback = function()
      match_from_python(source)
    end,
  })
end

--- Open the preview of a kernel (nil: of the file) to the right; the cursor stays where it is.
function M.open(client, uri, kernel)
  client:request("ferrotile/previewUri", { uri = uri, kernel = kernel }, function(err, found)
    if err then
      return vim.notify("ferrotile: " .. err.message, vim.log.levels.WARN)
    end
    local bufnr = vim.uri_to_bufnr(found.uri)
    if vim.fn.bufwinid(bufnr) == -1 then
      local here = api.nvim_get_current_win()
      vim.cmd("rightbelow vsplit")
      api.nvim_win_set_buf(0, bufnr)
      api.nvim_set_current_win(here)
    end
  end)
end

--- The Python changed, says the server: what is shown of it is asked for anew.
function M.refresh(_, params)
  for bufnr in pairs(maps) do
    if api.nvim_buf_get_name(bufnr) == params.uri then
      fill(bufnr)
    end
  end
  return vim.NIL
end

return M
