# Every target sets up .venv by itself, from requirements.lock and with its hashes. A machine needs
# GNU make and a Python 3.11 or newer with venv, nothing else; PYTHON=… chooses another Python.
# `interop` also asks the npm registry for what tests/interop pins, and runs it with the machine's
# Node.js or the one that .venv has for Pyright.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
# Without bytecode each of the many processes that the tests start would compile us and our
# dependencies anew.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
READY := .venv/ready
RUN_TESTS := $(BIN)/python -m pytest
# Each worker takes whole files, so that what a file starts is started once; the long ones come first.
# Most of the time is spent waiting for other processes, so there are more workers than cores.
PARALLEL := -n 6 --dist loadfile --no-loadscope-reorder

.PHONY: help demo test coverage check interop bench fuzz fuzz-ci lock clean python

help:
	@echo "make demo     see locum do its whole job against an agent in another process"
	@echo "make test     run all tests"
	@echo "make coverage measure what the tests reach, and hold it against what is asked for"
	@echo "make check    ruff, ruff format, mypy, pyright, import-linter"
	@echo "make interop  run the tests against other implementations of A2A"
	@echo "make bench    run the benchmarks, one after the other"
	@echo "make fuzz     run the property tests for much longer, from fresh seeds"
	@echo "make fuzz-ci  feed the wire 21,000 broken and rewritten streams, the same every time"
	@echo "make lock     bring requirements.lock up to pyproject.toml (UV_ARGS=--upgrade: to today)"
	@echo "make clean    remove .venv and all that these make"

demo: $(READY)
	$(BIN)/locum demo

test: $(READY)
	$(RUN_TESTS) $(PARALLEL)

# The tests that kill and the cases from the field are left out: they reach nothing that these must
# not reach by themselves.
coverage: $(READY)
	$(RUN_TESTS) $(PARALLEL) --cov --cov-report= \
		tests/unit tests/snapshot tests/replay tests/integration
	@status=0; \
	$(BIN)/coverage report --include='core/*,projections/*' --fail-under=100 || status=1; \
	$(BIN)/coverage report --include='adapters/*' --fail-under=90 || status=1; \
	exit $$status

check: export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
check: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/lint-imports

interop: $(READY)
	$(BIN)/python -m tests.interop.environments
	$(RUN_TESTS) tests/interop

bench: $(READY)
	@for file in benchmarks/[a-z]*.py; do \
		name=$$(basename $$file .py); echo "== $$name"; $(BIN)/python -m benchmarks.$$name || exit; done

fuzz: $(READY)
	$(RUN_TESTS) $(PARALLEL) tests/property --hypothesis-profile=fuzz -o timeout=0

# Three tests of the whole wire, 7,000 examples each; of its parts there are more tests and fewer.
fuzz-ci: $(READY)
	LOCUM_FUZZ_EXAMPLES=7000 $(RUN_TESTS) -n 2 tests/property/test_wire_whole.py
	LOCUM_FUZZ_EXAMPLES=1000 $(RUN_TESTS) -n 2 tests/property/test_wire_fuzz.py

LOCK := uv pip compile --universal --python-version 3.11 --generate-hashes --quiet \
	--custom-compile-command 'make lock' $(UV_ARGS)

lock: $(READY)
	$(BIN)/$(LOCK) pyproject.toml --group dev --output-file requirements.lock
	cd tests/interop && for peer in *.in; do \
		../../$(BIN)/$(LOCK) $$peer --output-file $${peer%.in}.lock || exit; done

clean:
	rm -rf .venv build dist *.egg-info htmlcov .coverage .coverage.* .hypothesis \
		.import_linter_cache .interop .mypy_cache .pytest_cache .ruff_cache tests/interop/node_modules
	find . -name __pycache__ -prune -exec rm -rf {} +

# The environment. Its stamp holds the place that it was made in: an environment that was moved or
# copied along with its checkout would go on running the code of the old one.

NEW_ENOUGH := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3.14 python3; do \
	if $$python -c '$(NEW_ENOUGH)' >/dev/null 2>&1; then echo $$python; break; fi; done)

python:
	@echo $(PYTHON)

ifneq ($(shell cat $(READY) 2>/dev/null),$(CURDIR))
.PHONY: $(READY)
endif

$(READY): requirements.lock pyproject.toml
	@if [ "$$(cat $@ 2>/dev/null)" != "$(CURDIR)" ] || ! $(BIN)/python -m pip --version >/dev/null 2>&1; \
	then \
		$(or $(PYTHON),false) -c '$(NEW_ENOUGH)' || { \
			echo "locum needs Python 3.11 or newer with venv (Debian: apt-get install python3-venv);" \
				"PYTHON=… names one that is not on the PATH." >&2; exit 1; }; \
		echo "Setting up .venv with $(PYTHON) …"; \
		$(PYTHON) -m venv --clear .venv; \
	fi
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	@echo "$(CURDIR)" >$@
