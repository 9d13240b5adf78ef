# Everything runs inside .venv, which is made here on first use: no environment needs to be active.
# A stamp per step keeps repeated runs quick; a change of pyproject.toml makes the steps again.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMPS := $(VENV)/stamps
TORCH  := torch==2.13.0
PEERS  := autograd jax

# pytest-xdist's -n; two workers by default, so that a small machine is not swamped.
WORKERS ?= 2
PYTEST_ARGS ?=
BENCH_ARGS ?=

# The quick part of the tests: with the oldest versions that pyproject.toml allows, on other interpreters, from the sdist.
QUICK := $(addprefix tests/,$(addsuffix .py,compiler/test_compile_native compiler/test_compile_cache \
          numpy_users/test_scipy numpy_users/test_hips numpy_users/test_array_api numpy_users/test_numpy_functions \
          numpy_users/test_numpy_namespace autograd/test_engine autograd/test_views autograd/test_forward_ad \
          func/test_func nn/test_nn_module optim/test_optim serialization/test_serialization \
          random_numbers/test_random ops/test_special))

.PHONY: run generate test test-oldest test-others test-sdist coverage lint docs bench bench-scaling bench-peers oracle \
        clean help

help:
	@echo "make run      set up .venv, install dualtape, run 'dualtape tour'"
	@echo "make test     run the tests            (PYTEST_ARGS='-k views' WORKERS=4)"
	@echo "make test-oldest   a quick part of them, with the oldest versions that pyproject.toml allows"
	@echo "make test-others   the same part, on the other supported Python interpreters of this machine"
	@echo "make test-sdist    the same part, from a built and unpacked source distribution"
	@echo "make coverage lines of src/dualtape that the tests run, in percent"
	@echo "make generate write what is generated from the source: the index of families, type stubs, parts of docs"
	@echo "make lint     ruff and mypy"
	@echo "make docs     the documentation site, into docs/_build/html   (BENCH=FILE of make bench --json)"
	@echo "make bench    dualtape and its peers side by side   (BENCH_ARGS=--quick, see docs/performance.md)"
	@echo "make bench-scaling   long graphs, memory, import time, installed size"
	@echo "make bench-peers     install the other peers: $(PEERS)"
	@echo "make oracle   install $(TORCH), which the comparison tests and the benchmarks use"
	@echo "make clean    remove .venv and everything the commands wrote"

.DEFAULT_GOAL := help

run: $(STAMPS)/package
	$(BIN)/dualtape tour

generate: $(STAMPS)/test
	$(BIN)/python -m dualtape.ops.reindex
	$(BIN)/python -m tools.stubs
	$(BIN)/python -m tools.layers
	$(BIN)/python -m tools.generated_code

test: $(STAMPS)/test
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

test-oldest: $(STAMPS)/oldest
	$(VENV)-oldest/bin/python -m pytest -n $(WORKERS) -q -r fE -p no:cacheprovider $(QUICK)

test-others: $(STAMPS)/package
	@for python in $$($(BIN)/python -m tools.interpreters); do \
	    echo "$$python"; \
	    $(MAKE) --no-print-directory test-other OTHER=$$python || exit 1; \
	done

# One interpreter in an environment of its own, named after its version.
test-other:
	set -e; venv=$(VENV)-$$($(OTHER) -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	[ -x $$venv/bin/python ] || $(OTHER) -m venv $$venv; \
	$$venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'; \
	$$venv/bin/python -m pytest -n $(WORKERS) -q -r fE -p no:cacheprovider $(QUICK)

# The unpacked archive has to bring all that its own Makefile and tests read.
test-sdist: $(STAMPS)/test $(STAMPS)/dev
	rm -rf build/sdist && mkdir -p build/sdist
	$(BIN)/python -m build --no-isolation --sdist --outdir build/sdist .
	tar -xzf build/sdist/*.tar.gz -C build/sdist --strip-components=1
	cd build/sdist && PYTHONPATH=src $(CURDIR)/$(BIN)/python -m pytest -n $(WORKERS) -q -r fE -p no:cacheprovider \
	    tests/project/test_import.py tests/project/test_layers.py tests/project/test_stubs.py tests/project/test_pages.py \
	    tests/autograd/test_engine.py
	$(MAKE) --no-print-directory -C build/sdist help > build/sdist/help.txt

coverage: $(STAMPS)/test $(STAMPS)/dev
	$(BIN)/python -m pytest -n $(WORKERS) -q --cov=dualtape --cov-report=term $(PYTEST_ARGS)

lint: $(STAMPS)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(STAMPS)/docs
	$(BIN)/python -m tools.site $(if $(BENCH),--bench $(BENCH))
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

bench: $(STAMPS)/oracle $(STAMPS)/package
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

bench-scaling: $(STAMPS)/oracle $(STAMPS)/package
	$(BIN)/python -m benchmarks.scaling
	$(BIN)/python -m benchmarks.footprint
	$(BIN)/python -m benchmarks.budget

bench-peers: $(STAMPS)/oracle | $(STAMPS)/venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PEERS)

oracle: $(STAMPS)/oracle

# The interpreter inside a virtual environment is a link whose date is the system's, hence a stamp here too.
$(STAMPS)/venv:
	$(PYTHON) -m venv $(VENV)
	mkdir -p $(STAMPS)
	touch $@

$(STAMPS)/package: pyproject.toml | $(STAMPS)/venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(STAMPS)/test: pyproject.toml | $(STAMPS)/package
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

$(STAMPS)/dev: pyproject.toml | $(STAMPS)/package
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

$(STAMPS)/oldest: pyproject.toml tools/oldest.py | $(STAMPS)/package
	$(PYTHON) -m venv $(VENV)-oldest
	$(BIN)/python -m tools.oldest > $(STAMPS)/oldest.txt
	$(VENV)-oldest/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(STAMPS)/oldest.txt \
	    --editable '.[test]'
	touch $@

$(STAMPS)/docs: pyproject.toml | $(STAMPS)/package
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

$(STAMPS)/oracle: | $(STAMPS)/venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(TORCH)
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-* build dist dualtape-tour docs/_build docs/_generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
