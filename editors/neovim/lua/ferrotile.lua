--- ferrotile in Neovim 0.11 and newer. `require("ferrotile").setup(options)` is all that an init.lua needs.
local preview = require("ferrotile.preview")

local M = {}

local LENS_DELAY_MS = 100
local REQUEST_FAILED, REQUEST_CANCELLED = -32803, -32800

local options = {
  --- How the server is started; no workspace can choose it.
  cmd = { "ferrotile", "server" },
  --- Folders whose kernels may be run by Verify and Run. Nothing else is ever run.
  trusted = {},
  --- Verdict, Preview and Verify at the end of each kernel's head.
  lenses = true,
  --- Element type and shape after each tile.
  inlay_hints = true,
  --- `target`, `unsafe` and `checks`, as in docs/guide.md.
  settings = {},
}

local running = {} --- client id -> id of its `ferrotile/verify` or `ferrotile/run`

--- @param opts table? see `options`
function M.setup(opts)
  options = vim.tbl_extend("force", options, opts or {})
  vim.lsp.enable("ferrotile")
end

--- A folder is trusted when it is in one that the user named, all links followed.
local function is_trusted(folder)
  local asked = folder and vim.uv.fs_realpath(folder)
  for _, named in ipairs(options.trusted) do
    local real = vim.uv.fs_realpath(vim.fs.normalize(named))
    if asked and real and vim.fs.relpath(real, asked) then
      return true
    end
  end
  return false
end

local function tell(message)
  vim.notify("ferrotile: " .. message, vim.log.levels.WARN)
end

--- Lenses are asked for anew when typing pauses; Neovim 0.11 does not do so by itself.
local function keep_lenses(bufnr)
  if vim.lsp.codelens.enable then -- 0.12
    return vim.lsp.codelens.enable(true, { bufnr = bufnr })
  end
  local timer = assert(vim.uv.new_timer())
  local function soon()
    if timer:is_closing() then
      return
    end
    timer:start(LENS_DELAY_MS, 0, vim.schedule_wrap(function()
      if vim.api.nvim_buf_is_loaded(bufnr) then
        vim.lsp.codelens.refresh({ bufnr = bufnr })
      end
    end))
  end
  local group = vim.api.nvim_create_augroup("ferrotile.lenses." .. bufnr, {})
  vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI", "BufEnter" }, { group = group, buffer = bufnr, callback = soon })
  vim.api.nvim_create_autocmd("LspDetach", {
    group = group,
    buffer = bufnr,
    callback = function(event)
      local client = vim.lsp.get_client_by_id(event.data.client_id)
      if client and client.name == "ferrotile" then
        timer:close()
        vim.api.nvim_del_augroup_by_id(group)
      end
    end,
  })
  soon()
end

local function refresh_lenses(_, _, context)
  local client = vim.lsp.get_client_by_id(context.client_id)
  for bufnr in pairs(client and options.lenses and client.attached_buffers or {}) do
    vim.lsp.codelens.refresh({ bufnr = bufnr })
  end
  return vim.NIL
end

--- Verify or run (`method`) a kernel, or all of the file where `kernel` is nil. The verdict shows in lens, hover and
--- diagnostics.
local function verify(client, uri, kernel, method)
  local sent, id = client:request(method or "ferrotile/verify", { uri = uri, kernel = kernel }, function(err)
    running[client.id] = nil
    if not err or err.code == REQUEST_CANCELLED then
      return
    end
    if err.code == REQUEST_FAILED and not is_trusted(client.root_dir) then
      tell(('%s is not trusted: name it in `trusted` of require("ferrotile").setup()'):format(client.root_dir))
    else
      tell(err.message)
    end
  end)
  running[client.id] = sent and id or nil
end

--- Calls `with(kernel)` with the name of the kernel at the cursor, nil where there is none.
local function at_cursor(client, bufnr, with)
  local position = vim.lsp.util.make_position_params(0, client.offset_encoding).position
  local params = { uri = vim.uri_from_bufnr(bufnr), line = position.line, character = position.character }
  client:request("ferrotile/previewUri", params, function(err, found)
    with(not err and type(found.kernel) == "string" and found.kernel or nil)
  end, bufnr)
end

local actions = {
  preview = function(client, bufnr)
    at_cursor(client, bufnr, function(kernel)
      preview.open(client, vim.uri_from_bufnr(bufnr), kernel)
    end)
  end,
  translate = function(client, bufnr)
    client:exec_cmd({ command = "ferrotile.server.translate", arguments = { vim.uri_from_bufnr(bufnr) } }, { bufnr = bufnr })
  end,
  verify = function(client, bufnr)
    at_cursor(client, bufnr, function(kernel)
      verify(client, vim.uri_from_bufnr(bufnr), kernel)
    end)
  end,
  run = function(client, bufnr)
    at_cursor(client, bufnr, function(kernel)
      verify(client, vim.uri_from_bufnr(bufnr), kernel, "ferrotile/run")
    end)
  end,
  cancel = function(client, bufnr)
    if running[client.id] then
      client:cancel_request(running[client.id])
    else -- what a lens or an action started
      client:exec_cmd({ command = "ferrotile.server.cancel", arguments = {} }, { bufnr = bufnr })
    end
  end,
}

local function attach(client, bufnr)
  vim.api.nvim_buf_create_user_command(bufnr, "Ferrotile", function(command)
    local action = actions[command.args]
    if not action then
      return tell("there is no " .. command.args)
    end
    action(client, bufnr)
  end, {
    nargs = 1,
    desc = "ferrotile: preview, translate, verify, run, cancel",
    complete = function(typed)
      local names = vim.tbl_filter(function(name)
        return vim.startswith(name, typed)
      end, vim.tbl_keys(actions))
      table.sort(names)
      return names
    end,
  })
  vim.lsp.inlay_hint.enable(options.inlay_hints, { bufnr = bufnr })
  if options.lenses then
    keep_lenses(bufnr)
  end
  preview.follow(bufnr)
end

--- The configuration that `lsp/ferrotile.lua` gives to Neovim.
function M.config()
  return {
    cmd = options.cmd,
    filetypes = { "python" },
    root_dir = function(bufnr, start)
      local file = vim.api.nvim_buf_get_name(bufnr)
      if file ~= "" then
        start(vim.fs.root(bufnr, { ".git", "pyproject.toml", "setup.py" }) or vim.fs.dirname(file))
      end
    end,
    settings = { ferrotile = options.settings },
    init_options = { clientCommands = { "ferrotile.preview", "ferrotile.verify" }, rename = true },
    before_init = function(params, config)
      local trust = { workspaceTrusted = is_trusted(config.root_dir) }
      params.initializationOptions = vim.tbl_extend("force", config.init_options, trust)
    end,
    capabilities = {
      workspace = {
        codeLens = { refreshSupport = true },
        textDocumentContent = { dynamicRegistration = false },
      },
    },
    commands = {
      ["ferrotile.preview"] = function(command, context)
        local client = assert(vim.lsp.get_client_by_id(context.client_id))
        preview.open(client, command.arguments[1], command.arguments[2])
      end,
      ["ferrotile.verify"] = function(command, context)
        local client = assert(vim.lsp.get_client_by_id(context.client_id))
        verify(client, command.arguments[1], command.arguments[2])
      end,
    },
    handlers = {
      ["workspace/codeLens/refresh"] = not vim.lsp.codelens.enable and refresh_lenses or nil, -- 0.12 has its own
      ["workspace/textDocumentContent/refresh"] = preview.refresh,
    },
    on_attach = attach,
  }
end

return M
