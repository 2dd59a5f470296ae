# make setup builds .venv from the pinned requirements; every other target works inside it.

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup-done

# The interpreter below .venv: python3 if its version fits, else the first named one that does.
# `make setup PYTHON=...` chooses another.
FIND_PYTHON := import os, sys; \
	here = os.path.realpath(sys.prefix) == os.path.realpath("$(VENV)"); \
	fits = (3, 11) <= sys.version_info[:2] <= (3, 14); \
	print((sys._base_executable if here else sys.executable) if fits else "")
PYTHON ?= $(firstword $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c '$(FIND_PYTHON)' 2>/dev/null; done))

# How many tests run at once.
JOBS ?= 2

# The matrices here are small: threads inside the linear algebra only wait for each other.
export OPENBLAS_NUM_THREADS ?= 1

# Many tests start processes of their own: each would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup check test test-all soak test-extras test-linuxcnc test-embedded dist release-check coverage mutants defects testing-page demo bench ruler format gallery moving golden hashes house docs lock upgrade clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## Build .venv, if it is missing or its requirements have changed

check: setup ## Format, lint, types, the arrows between modules, the JSON schema
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m nacelle.model.description.schema --check

# The checks are run beside the tests: mypy, which takes longest, works on one core.
test: setup ## The checks, and the tests of every day: quick robots, a few cases of each test
	@mkdir -p .results; $(MAKE) --no-print-directory check > .results/checks.txt 2>&1 & checks=$$!; \
	$(BIN)/pytest -n $(JOBS) --dist worksteal --tier test; tests=$$?; \
	wait $$checks; checked=$$?; cat .results/checks.txt; exit $$((tests | checked))

# Which part of the longer tiers runs, and whether what has passed on this commit is left out (RESUME=1).
PART ?= 1/1
RESUME ?=

test-all: setup check ## Everything that asserts; PART=2/4 a part of it, RESUME=1 what has not passed yet
	$(BIN)/pytest -n $(JOBS) --dist worksteal --tier all --part $(PART) $(if $(RESUME),--resume)

soak: setup ## Statistics and long searches: hours; PART=2/4 and RESUME=1 as above
	$(BIN)/pytest -n $(JOBS) --dist worksteal --tier soak --part $(PART) $(if $(RESUME),--resume)

test-extras: setup ## Tests of what is optional; installs PyTorch (some gigabytes on Linux), CasADi, Exudyn
	@$(UV_SETTINGS) $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/torch.txt
	@$(UV_SETTINGS) $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/bench.txt
	$(BIN)/pytest -n $(JOBS) --dist worksteal --tier all -m extra

# LinuxCNC refuses root, its modules are installed by root: the tests, run as root, start it as nobody.
test-linuxcnc: setup ## Kinematics in the real LinuxCNC; installs its packages by apt where it may
	@if ! command -v halcompile linuxcnc >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
			linuxcnc-uspace linuxcnc-uspace-dev; \
	fi
	$(BIN)/pytest -v tests/linuxcnc

test-embedded: setup ## The embedded profile on two boards in qemu; installs gcc and qemu for ARM by apt where it may
	@if ! command -v arm-none-eabi-gcc qemu-system-arm >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
			gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm; \
	fi
	$(BIN)/pytest -v tests/embedded

QUALITY = @$(UV_SETTINGS) $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes \
	-r requirements/quality.txt

# SlipCover, since a run of make test-all takes no longer with it; parts of one run are merged.
TIER ?= all
COVERED = .results/coverage-
coverage: setup ## Lines and branches that make test-all reaches, PART by PART; TIER=test: that make test does
	$(QUALITY)
	@mkdir -p .results
	PYTHONPATH=tests $(BIN)/python -m slipcover --branch --source src/nacelle --json \
		--out $(COVERED)$(TIER)-$(subst /,of,$(PART)).json -m pytest -n $(JOBS) --dist worksteal \
		--tier $(TIER) --part $(PART); tests=$$?; \
	PYTHONPATH=tests $(BIN)/python -m support.coverage_report $(COVERED)$(TIER)-*of$(lastword $(subst /, ,$(PART))).json; \
	exit $$tests

# Which test of make test runs which line.
.results/contexts: | $(STAMP)
	$(QUALITY)
	@mkdir -p .results
	COVERAGE_FILE=$@ $(BIN)/pytest -n $(JOBS) --dist worksteal --tier test \
		--cov=nacelle --cov-branch --cov-context=test --cov-report=

mutants: setup .results/contexts ## Mutation testing of the core on the kept list; PART=1/4 as above, goes on where it was stopped
	$(QUALITY)
	PYTHONPATH=tests $(BIN)/python -m support.mutants --part $(PART)

defects: setup ## Plant defects one by one, and say which test of make test finds each
	PYTHONPATH=tests $(BIN)/python -m support.defects

testing-page: setup ## Write docs/testing.md from what the tiers have found in .results/
	PYTHONPATH=tests $(BIN)/python -m support.testing_page

demo: setup ## PaLiDA verified, identified, controlled, exported as C; its data sheet in nacelle-demo/report.html
	@$(BIN)/nacelle demo --overwrite

# Which benchmarks run: all, or ONLY="startup calls".
ONLY ?=

bench: setup ## Measure beside gcc, CasADi, NumPy, Pinocchio, MuJoCo and Exudyn, and write docs/benchmarks.md
	@$(UV_SETTINGS) $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/bench.txt
	$(BIN)/python benchmarks/collect.py $(ONLY)

# The engines of the ruler are in an environment of their own: no other target needs them.
RULER := .ruler
ENGINES ?=

ruler: $(BIN)/uv ## Measure engines at closed loops against 50 digits, and write docs/ruler.md; ENGINES="mujoco drake"
	@$(UV_SETTINGS) set -e; \
	if [ ! -x $(RULER)/bin/python ]; then $(BIN)/uv venv --quiet --python $(BIN)/python $(RULER); fi; \
	$(BIN)/uv pip install --quiet --python $(RULER)/bin/python --require-hashes --only-binary :all: \
		-r requirements/ruler.txt; \
	$(BIN)/uv pip install --quiet --python $(RULER)/bin/python --no-deps --no-build-isolation -e .
	$(RULER)/bin/python benchmarks/ruler/measure.py $(if $(ENGINES),--engines $(ENGINES))
	$(RULER)/bin/python benchmarks/ruler/page.py

format: setup ## Format, and mend what the linter can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python -m nacelle.model.description.schema

gallery: setup ## Draw every robot of the library again for the pages
	PYTHONPATH=tests $(BIN)/python -m support.gallery docs/pictures --page docs/gallery.md

moving: setup ## Photograph the picture that moves on the first page again; needs Chromium
	PYTHONPATH=tests $(BIN)/python -m support.moving_picture

golden: setup ## Write the golden files of what commands and pages say again; read the diff
	NACELLE_GOLDEN=write $(BIN)/pytest -q tests/cli/test_golden.py tests/report/test_golden.py

hashes: setup ## Write the hashes of the library's programs again, after a change of a form or a pass
	PYTHONPATH=tests $(BIN)/python -m support.program_hashes

house: setup ## The package in numbers (modules, imports, cycles, lines, walks), and its picture
	PYTHONPATH=tests $(BIN)/python -m support.house
	PYTHONPATH=tests $(BIN)/python -m support.walks

dist: setup ## The source distribution and the wheel, and the recipe of conda-forge, in dist/
	rm -rf dist
	$(BIN)/uv build --quiet --offline --no-build-isolation --python $(BIN)/python --out-dir dist .
	$(BIN)/python packaging/conda.py ADDRESS > dist/recipe.yaml

# With python -m build, as others do it, and with what the metadata allow, not what is pinned here.
release-check: dist ## The wheel in bare environments, with the oldest and with the newest dependencies
	@$(UV_SETTINGS) set -e; export VIRTUAL_ENV=; uv="$$PWD/$(BIN)/uv"; place="$$PWD/.results/release"; \
	rm -rf "$$place"; mkdir -p "$$place"; \
	$$uv venv --quiet --python $(BIN)/python "$$place/build"; \
	$$uv pip install --quiet --python "$$place/build/bin/python" build; \
	"$$place/build/bin/python" -m build --outdir "$$place/dist" .; \
	for which in lowest-direct highest; do \
		home="$$place/$$which"; \
		$$uv venv --quiet --python $(BIN)/python "$$home"; \
		$$uv pip compile --quiet --python $(BIN)/python --resolution $$which pyproject.toml -o "$$home.txt"; \
		$$uv pip install --quiet --python "$$home/bin/python" --only-binary :all: -r "$$home.txt" \
			"$$place"/dist/*.whl; \
		(cd "$$home"; export NACELLE_CACHE="$$home/cache"; bin/nacelle --version; bin/nacelle demo); \
		$$uv pip compile --quiet --python $(BIN)/python --resolution $$which --extra plot --extra verify \
			pyproject.toml -o "$$home.txt"; \
		$$uv pip install --quiet --python "$$home/bin/python" --only-binary :all: -r "$$home.txt" \
			pytest hypothesis mpmath; \
		NACELLE_CACHE="$$home/cache" PYTHONPATH=tests "$$home/bin/python" -m pytest -q \
			-m "not slow and not soak" tests/cli tests/verify tests/exchange; \
	done

docs: setup ## Build the pages into site/, with the API reference written from the docstrings
	PYTHONPATH=tests $(BIN)/python -m support.api_pages docs/api
	$(BIN)/zensical build --clean

lock: ## Write the pinned requirements again, keeping the pins that still fit
upgrade: ## Write the pinned requirements again, with the newest versions
upgrade: UPGRADE := --upgrade
lock upgrade: $(BIN)/uv
	@$(UV_SETTINGS) $(COMPILE) --no-annotate requirements/uv.in -o requirements/uv.txt
	@$(UV_SETTINGS) $(COMPILE) pyproject.toml --extra plot --extra logs --extra verify --extra cluster \
		--extra view --extra jax requirements/dev.in -o requirements/dev.txt
	@$(UV_SETTINGS) $(COMPILE) pyproject.toml --constraint requirements/dev.txt -o requirements/runtime.txt
	@$(UV_SETTINGS) $(COMPILE) requirements/bench.in --constraint requirements/dev.txt \
		-o requirements/bench.txt
	@$(UV_SETTINGS) $(COMPILE) pyproject.toml requirements/ruler.in --constraint requirements/dev.txt \
		-o requirements/ruler.txt
	@$(UV_SETTINGS) $(COMPILE) requirements/quality.in --constraint requirements/dev.txt \
		-o requirements/quality.txt
	@$(UV_SETTINGS) $(COMPILE) requirements/torch.in --constraint requirements/dev.txt \
		-o requirements/torch.txt

COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" $(UPGRADE)

clean: ## Remove everything that make has built, .venv too
	rm -rf $(VENV) $(RULER) build demo nacelle-demo dist site docs/api .cache .hypothesis .import_linter_cache
	rm -rf .mypy_cache .pytest_cache .ruff_cache .results
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# ------------------------------------------------------------------------------ the environment

# uv does not read pip's settings: hand it pip's index and certificates, unless it has its own.
UV_SETTINGS = python="$(PYTHON)"; export UV_PYTHON_DOWNLOADS=never; \
	pip_setting() { "$$python" -m pip config list 2>/dev/null \
		| sed -nE "s/^(:env:|global|install)\.$$1='(.*)'$$/\2/p" | head -n 1; }; \
	if [ -z "$${UV_DEFAULT_INDEX:-}$${UV_INDEX_URL:-}" ]; then \
		index="$$(pip_setting index-url)"; \
		if [ -n "$$index" ]; then export UV_DEFAULT_INDEX="$$index"; fi; \
	fi; \
	if [ -z "$${SSL_CERT_FILE:-}" ]; then \
		cert="$$(pip_setting cert)"; \
		if [ -n "$$cert" ]; then export SSL_CERT_FILE="$$cert"; fi; \
	fi;

# The venv needs no ensurepip, which Debian packs apart: the interpreter's own pip puts uv into it.
$(BIN)/uv:
	@set -e; python="$(PYTHON)"; \
	if [ -z "$$python" ] || [ -z "$$("$$python" -c '$(FIND_PYTHON)' 2>/dev/null)" ]; then \
		echo "nacelle needs Python 3.11 to 3.14; name one: make setup PYTHON=..." >&2; exit 1; \
	fi; \
	echo "Building $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv --without-pip --clear $(VENV); \
	if ! "$$python" -m pip --python $(BIN)/python --version >/dev/null 2>&1; then \
		echo "make setup needs pip 22.3 or newer for $$python" >&2; exit 1; \
	fi; \
	"$$python" -m pip --python $(BIN)/python --disable-pip-version-check --quiet install \
		--require-hashes --only-binary :all: -r requirements/uv.txt

# On a terminal uv shows what it downloads.
$(STAMP): pyproject.toml requirements/uv.txt requirements/dev.txt | $(BIN)/uv
	@$(UV_SETTINGS) set -e; \
	quiet=--quiet; if [ -t 2 ]; then quiet=; fi; \
	$(BIN)/uv pip sync $$quiet --python $(BIN)/python --require-hashes --only-binary :all: \
		requirements/uv.txt requirements/dev.txt; \
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@
