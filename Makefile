# Two commands matter: `make run` shows the scheduler at work, `make test` checks everything. Both install what they need.

# A Python compiled with profile-guided optimization goes first: the daemon takes a tenth less CPU with it. Whether one was,
# its build's configuration says, but for those that come with a distribution (in /usr), which are.
CHOICE = import importlib.util, sys, sysconfig; \
	fast = sys.base_prefix == '/usr' or '--enable-optimizations' in str(sysconfig.get_config_var('CONFIG_ARGS')); \
	fit = fast and importlib.util.find_spec('ensurepip') or sys.argv[1] == 'any'; \
	sys.exit(sys.version_info < (3, 11) or not fit)
PYTHON ?= $(shell for wanted in fast any; do \
	for python in python3 /usr/bin/python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c "$(CHOICE)" $$wanted 2>/dev/null && echo $$python && exit; done; done)
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

# In continuous integration the machine may stall for longer than a test waits: tests that fail are tried once more, of the
# real cluster up to three, and shown with what they failed on. Elsewhere a failure is a failure at once.
RETRIES := $(if $(CI),--reruns 1 --max-suite-reruns 3 --rerun-show-tracebacks)
# (over several processes, --reruns makes all tests three times as slow)
AGAIN = $(if $(CI),|| $(BIN)/python -m pytest tests --last-failed $(ARGS))

# With PYTHONDONTWRITEBYTECODE set, each start of a test, a tool or the daemon compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE

# Touched when the installation that they stand for is done; pyproject.toml is what it depends on.
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev

.DEFAULT_GOAL := help
.PHONY: help run test test-fast lint types imports docs unit e2e faults e2e-kind soak bench image sbom dist lock dashboards clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(INSTALLED) ## Bring up a local control plane with the scheduler and a sample (ARGS=--once: exit when it has settled)
	@$(BIN)/volcano-py up $(ARGS)

test: lint types imports docs unit e2e ## Run every check and every test

# Of the code that decides, which does no I/O: packages with many tests that take little time each.
FAST := $(addprefix tests/unit/,actions admission api config framework jobs plugins state)
test-fast: $(INSTALLED_DEV) ## Run the unit tests of the code that decides (about a minute on two cores)
	$(BIN)/python -m pytest $(FAST) --numprocesses=auto --dist=worksteal $(ARGS)

# Built from its Go module the first time, as the control plane is. It runs other linters only where they are installed,
# so that it would find something else on each machine: without them.
ACTIONLINT = "$$($(BIN)/python -c 'from volcano_py.local.binaries.binaries import ensure_binaries; \
	print(ensure_binaries(["actionlint"])["actionlint"])')"
lint: $(INSTALLED_DEV) ## Check style and formatting, and the workflows of releases
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/zizmor --offline --no-progress --quiet .github
	$(ACTIONLINT) -shellcheck= -pyflakes=

types: $(INSTALLED_DEV) ## Check types
	$(BIN)/mypy

imports: $(INSTALLED_DEV) ## Check that imports point one way
	$(BIN)/lint-imports

docs: $(INSTALLED_DEV) ## Build the pages as a site with search, in build/docs; broken links are errors
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs build/docs

unit: $(INSTALLED_DEV) ## Run all tests that need no cluster: unit, property, scenario (about ten minutes on two cores)
	$(BIN)/python -m pytest tests --numprocesses=auto --dist=worksteal $(ARGS) $(AGAIN)

e2e: $(INSTALLED_DEV) ## Run the end-to-end tests (E2E_KUBECONFIG=FILE: on that cluster instead of our own control plane)
	$(BIN)/python -m pytest e2e $(RETRIES) $(ARGS)

faults: $(INSTALLED_DEV) ## Only the part of e2e that injects faults between the daemon and the API server
	$(BIN)/python -m pytest e2e/faults $(ARGS)

e2e-kind: $(INSTALLED_DEV) ## Build the image and run the end-to-end tests on a kind cluster (needs docker and kind)
	PYTHON=$(CURDIR)/$(BIN)/python e2e/kind/run.sh $(ARGS)

soak: $(INSTALLED_DEV) ## Inject 1,000 faults; churn for 20 minutes with an eye on the memory, and for 2 x 20 with a record (90 minutes)
	$(BIN)/python -m pytest e2e/faults --soak $(ARGS)

bench: $(INSTALLED) ## Measure (ARGS: see volcano-py bench --help)
	@$(BIN)/volcano-py bench $(ARGS)

image: ## Build the image of a release (IMAGE=name, DIGEST=sha256:…: that of its base; needs docker)
	.ci/image "$(IMAGE)" "$(DIGEST)" $(ARGS)

sbom: $(INSTALLED_DEV) ## List the parts of the image and the wheel in CycloneDX, from the lock file: dist/volcano-py.cdx.json
	mkdir -p dist
	$(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible --validate \
		--output-file dist/volcano-py.cdx.json requirements.lock

dist: sbom ## Build what a release publishes: wheel, sdist and SBOM in dist/
	$(UV) build --quiet --build-constraint requirements-build.lock --out-dir dist
	$(BIN)/uv tool run --quiet twine==7.0.0 check --strict dist/*.whl dist/*.tar.gz

# The image is built from these files alone: every package in one version, and every file of it by its hash.
UV_VERSION := 0.13.9
UV = $(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION) && $(BIN)/uv
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header $(ARGS)
lock: $(INSTALLED) ## Update the lock files of the image and of checkouts (ARGS=--upgrade: to the newest versions)
	$(UV) --version
	$(LOCK) --generate-hashes --extra cel pyproject.toml --output-file requirements.lock
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' \
		| $(LOCK) --generate-hashes - --output-file requirements-build.lock
	$(LOCK) --no-annotate --extra dev pyproject.toml --output-file requirements-dev.lock

dashboards: $(INSTALLED) ## Update the dashboards and alerts in manifests/monitoring
	@$(BIN)/python -m volcano_py.observe.monitoring

clean: ## Remove what the checkout holds but git does not (built binaries stay, in ~/.cache/volcano-py)
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A checkout gets the versions that it was tested with, whatever its dependencies have released since.
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements-dev.lock

$(INSTALLED): pyproject.toml requirements-dev.lock | check-python
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable .
	@touch $@

$(INSTALLED_DEV): $(INSTALLED)
	$(INSTALL) --editable '.[dev]'
	@touch $@

.PHONY: check-python
check-python:
	@test -n "$(PYTHON)" || { \
		echo "volcano-py needs Python 3.11 or newer, and there is none on PATH." >&2; \
		echo "On Debian or Ubuntu: apt install python3 python3-venv" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) cannot make virtual environments: its venv module is not installed." >&2; \
		echo "On Debian or Ubuntu: apt install python3-venv" >&2; exit 1; }
