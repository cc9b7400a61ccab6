# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: help demo test lint bench fuzz chaos docs clean

help: ## what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "streamflow needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	  { echo "could not make $(VENV); on Debian: apt-get install python3-venv"; exit 1; }
	@echo "installing streamflow and its tools into $(VENV) (only when pyproject.toml or constraints.txt changed)"
	@$(PIP) --constraint constraints.txt --editable '.[test,docs]' || \
	  { echo "the installation failed: is the package index reachable?"; exit 1; }
	@touch $@

PORT ?= 8800

demo: $(STAMP) ## show a recorded stream becoming text, thinking, tool calls, usage; with WEB=1 a chat in the browser
	@$(BIN)/streamflow $(if $(WEB),serve --simulate --port $(PORT),demo)

test: $(STAMP) ## lint, types, import contracts, all tests
	@$(BIN)/ruff check streamflow tests bench docs
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m pytest -q

# The peers are many and heavy, and some change how pytest runs: they have an environment of their own.
BENCH := .venv-bench

$(BENCH)/.installed: pyproject.toml constraints.txt
	@test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	@echo "installing the peers into $(BENCH) (only when pyproject.toml or constraints.txt changed)"
	@$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[peers]'
	@touch $@

bench: $(BENCH)/.installed ## speed beside the peers, in one run; writes docs/performance.md
	@$(BENCH)/bin/python -m bench

STREAMFLOW_FUZZ ?= 100000
STREAMFLOW_FUZZ_SECONDS ?= 20

fuzz: $(STAMP) ## the laws over every operator with many examples, then coverage-guided; make fuzz STREAMFLOW_FUZZ=1000000 for more
	@$(BIN)/python -m tests.laws --examples $(STREAMFLOW_FUZZ)
	@STREAMFLOW_FUZZ=$(STREAMFLOW_FUZZ) $(BIN)/python -m pytest -q -m "not slow" tests/wire tests/text tests/laws/test_earliest_release.py
	@$(BIN)/python -m tests.fuzz --seconds $(STREAMFLOW_FUZZ_SECONDS)

MINUTES ?= 10
KILLS ?= 100
SEED ?= 20

chaos: $(STAMP) ## kills, resets, stalls, full disks for ten minutes, and nothing lost; make chaos MINUTES=1 KILLS=10 SEED=7
	@$(BIN)/python -m tests.chaos --minutes $(MINUTES) --kills $(KILLS) --seed $(SEED)

docs: $(STAMP) ## build the site into site/; a warning or a dead link fails
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "wrote site/index.html"

clean: ## remove the environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis dist site
