-- A day with the plugin: diagnostics, hover, preview, quick fix, translate, verify, stale, failed, cancelled, not trusted.
package.path = vim.env.SCRIPTS .. "/?.lua;" .. package.path
local t = require("support")
local api = vim.api

t.run(function()
  t.open("refused.py")
  t.eventually("diagnostics", function()
    return #vim.diagnostic.get(0) >= 3
  end)
  t.see("refused", t.diagnostics())
  t.see("refused lens", t.eventually("a lens", function()
    return t.lens("def ping_pong")
  end))

  t.open("softmax.py")
  t.eventually("a lens", function()
    return t.lens("def softmax")
  end)
  t.see("quiet", t.diagnostics())
  t.see("lens", t.lens("def softmax"))
  t.see("hints", t.eventually("inlay hints", function()
    local hints = t.virtual("nvim.lsp.inlayhint")
    return #hints > 0 and hints
  end))
  t.go_to("def softmax")
  api.nvim_win_set_cursor(0, { (t.find("def softmax")), 5 })
  t.see("hover", t.hover())

  -- The preview beside the Python: matching lines, and the way back.
  local python = api.nvim_get_current_win()
  vim.cmd("Ferrotile preview")
  local rust = t.eventually("the preview", function()
    for _, window in ipairs(api.nvim_list_wins()) do
      local buffer = api.nvim_win_get_buf(window)
      if vim.bo[buffer].filetype == "rust" and api.nvim_buf_line_count(buffer) > 1 then
        return window
      end
    end
  end)
  local preview = api.nvim_win_get_buf(rust)
  local function shown()
    return table.concat(api.nvim_buf_get_lines(preview, 0, -1, false), "\n")
  end
  t.see("focus stays", api.nvim_get_current_win() == python)
  t.see("preview", { text = shown(), modifiable = vim.bo[preview].modifiable, title = vim.wo[rust].statusline })
  t.see("match in the rust", t.eventually("marks in the preview", function()
    t.go_to("ct.exp(")
    local marked = t.marked(preview)
    return #marked > 0 and marked
  end))
  api.nvim_set_current_win(rust)
  t.go_to("exp(t - ")
  t.see("match in the python", t.marked(api.nvim_win_get_buf(python)))
  api.nvim_feedkeys("gd", "xt", false)
  t.eventually("the way back", function()
    return api.nvim_get_current_win() == python
  end)
  t.see("back", api.nvim_get_current_line())

  -- The launch goes, and the signature with it; the quick fix writes it down.
  vim.cmd("/^def main/,$d")
  t.eventually("a missing signature", function()
    return #vim.diagnostic.get(0) > 0
  end)
  t.see("without a launch", t.diagnostics())
  t.go_to("TN: ct.Constant")
  t.see("actions", t.code_action("Say it in a"))
  t.eventually("the directive", function()
    return vim.fn.search("# ferrotile:", "nw") > 0
  end)
  t.see("directive", api.nvim_buf_get_lines(0, vim.fn.search("# ferrotile:", "nw") - 1, vim.fn.search("# ferrotile:", "nw"), false)[1])
  t.see("with a directive", t.eventually("no more of it", function()
    local left = t.diagnostics()
    return not vim.iter(left):any(function(d)
      return d.code == "FT103"
    end) and left
  end))

  t.go_to("def softmax")
  t.code_action("Translate to Rust")
  t.eventually("the Rust file", function()
    return vim.endswith(api.nvim_buf_get_name(0), "/softmax.rs")
  end)
  t.see("translated", table.concat(api.nvim_buf_get_lines(0, 0, -1, false), "\n"))
  vim.cmd("silent write")
  t.open("softmax.py")

  if vim.env.VERIFY == "1" then
    vim.cmd("Ferrotile verify")
    t.see("verdict", t.eventually("a verdict", function()
      local lens = t.lens("def softmax")
      return lens and lens:find("proved", 1, true) and lens
    end, 240))
    t.see("nothing else says so", t.diagnostics())
    t.go_to("softmax(x")
    t.see("hover of the verdict", t.hover())
    vim.cmd("Ferrotile run")
    t.see("hover after a run", t.eventually("history", function()
      local said = t.hover()
      return said and said:find("earlier: ", 1, true) and said
    end, 240))
    t.see("lens after a run", t.lens("def softmax"))
    t.replace("ct.exp(", "ct.exp2(")
    t.see("stale", t.eventually("a stale lens", function()
      local lens = t.lens("def softmax")
      return lens and not lens:find("proved", 1, true) and lens
    end))
    t.see("the preview followed", t.eventually("exp2 in the preview", function()
      return shown():find("exp2(", 1, true) and true
    end))

    t.open("double.py")
    t.eventually("a lens", function()
      return t.lens("def double")
    end)
    t.go_to("def double")
    vim.cmd("Ferrotile verify")
    t.see("failed lens", t.eventually("a failed verdict", function()
      local lens = t.lens("def double")
      return lens and lens:find("crashed", 1, true) and lens
    end, 240))
    t.eventually("its diagnostics", function()
      return #vim.diagnostic.get(0) > 0
    end)
    t.see("failed", t.diagnostics())

    vim.cmd("Ferrotile verify")
    vim.cmd("Ferrotile cancel")
    t.settle()
    t.see("after a cancel", t.messages())
  end

  vim.cmd.edit(vim.env.ELSEWHERE .. "/double.py")
  t.eventually("a lens", function()
    return t.lens("def double")
  end)
  t.go_to("def double")
  vim.cmd("Ferrotile verify")
  t.see("not trusted", t.eventually("a refusal", function()
    local said = t.messages()
    return said[#said]:find("trusted", 1, true) and said[#said]
  end))
end)
