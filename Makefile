# Two commands matter: `make demo` shows what ferrotile does, `make test` shows that it does so.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMPS := .cache/stamps

RUST   := $(shell find gpu_runner/host -name target -prune -o -name '*.rs' -print -o -name 'Cargo.*' -print 2>/dev/null)
CLIENT := $(shell find vscode-client -name node_modules -prune -o -name '*.ts' -print -o -name 'package*.json' -print 2>/dev/null)

.PHONY: demo test fuzz mutate lint lint-python lint-rust lint-client format bench setup vsix clean

demo: setup
	@$(BIN)/ferrotile demo

# pytest runs last, so that the last lines are its summary.
test: lint setup
	@$(BIN)/python -m pytest

lint: lint-python lint-rust lint-client

lint-python: $(STAMPS)/venv
	@$(BIN)/ruff check translation gpu_runner server tests examples benchmarks
	@$(BIN)/mypy
	@$(BIN)/lint-imports

lint-rust: $(STAMPS)/rust

lint-client: $(STAMPS)/client

format: $(STAMPS)/venv
	$(BIN)/ruff format translation gpu_runner server tests examples benchmarks
	cd gpu_runner/host && cargo fmt

bench: setup $(STAMPS)/bench
	@for b in benchmarks/bench_*.py; do $(BIN)/python $$b || exit 1; done

# Random kernels through both compilers: make fuzz N=500 FROM=10000. Faults are kept, made short, in build/fuzz.
N    ?= 100
FROM ?= 0
fuzz: setup
	@$(BIN)/python tests/fuzz --seeds $(FROM):$$(($(FROM) + $(N)))

# Lies told to the prover, so many a kernel: make mutate COUNT=20. What became of each is in build/mutation.
COUNT ?= 20
mutate: setup
	@$(BIN)/python tests/mutation --count $(COUNT)

setup: $(STAMPS)/host

vsix: $(STAMPS)/client $(STAMPS)/venv
	@cd vscode-client && npm run --silent package && ls -l ferrotile.vsix

clean:
	rm -rf .cache/stamps .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist *.egg-info
	rm -rf gpu_runner/host/target vscode-client/out vscode-client/dist vscode-client/*.vsix

$(STAMPS)/venv: pyproject.toml
	@mkdir -p $(STAMPS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[compilers,dev,mcp,draft]'
	@touch $@

# What the benchmarks compare with.
$(STAMPS)/bench: $(STAMPS)/venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	@touch $@

# The host needs cargo, and nothing else that pip does not bring.
$(STAMPS)/host: $(STAMPS)/venv $(RUST)
	@$(BIN)/ferrotile setup
	@touch $@

# cuTile Rust builds only in the environment that ferrotile's toolchain describes: CUDA headers, libclang.
define CLIPPY
import os, subprocess, sys
from ferrotile_runner.toolchain import locate
command = ["cargo", "clippy", "--quiet", "--release", "--locked", "--", "-D", "warnings"]
sys.exit(subprocess.call(command, cwd="gpu_runner/host", env={**os.environ, **locate().environment}))
endef
export CLIPPY

$(STAMPS)/rust: $(RUST) $(STAMPS)/host
	@cd gpu_runner/host && cargo fmt --check
	@$(BIN)/python -c "$$CLIPPY"
	@touch $@

$(STAMPS)/client: $(CLIENT)
	@mkdir -p $(STAMPS)
	@if ! command -v npm >/dev/null; then echo 'lint-client: skipped, npm is not installed'; \
	elif [ -f vscode-client/package.json ]; then cd vscode-client && npm ci --silent && npx --no-install tsc --noEmit; fi
	@touch $@
