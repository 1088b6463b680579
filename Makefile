# The verbs: demo, stop, test, lint, bench, soak. Each sets itself up; nothing but Python and make is needed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DATA ?= ../shared/data
RATINGS := $(wildcard $(DATA)/poignancy.tsv)
TALKS := $(wildcard $(DATA)/locomo_dev5.json)

.PHONY: demo stop test lint format bench soak clean

demo: $(READY)
	$(BIN)/python -m world.demo $(if $(DEMO_EXIT),--exit)

stop: $(READY)
	$(BIN)/python -m world.demo stop

test: $(READY)
	@.ci/chromium
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# every one is run, whatever the one before it came to; those that read a file where it is there
bench: $(READY)
	@missed=; for each in journal recall $(RATINGS:%="importance %") emotions \
			attention due_dates sentences evenings answers model $(TALKS:%="locomo % --loco") night stalls web; do \
		$(BIN)/python -m benchmarks.$$each || missed="$$missed; $$each"; echo; \
	done; test -z "$$missed" || { echo "Not held$$missed"; exit 1; }

# half an hour of everything that a live game goes through
soak: $(READY)
	$(BIN)/python -m world.soak

clean: stop
	rm -rf .game $(VENV)

# torch comes first and alone, so that the pinned build is taken and no newer one
$(READY): pyproject.toml constraints.txt
	@echo "Making $(VENV) (a few minutes the first time) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --progress-bar off -c constraints.txt torch
	$(BIN)/pip install --progress-bar off -c constraints.txt -e '.[dev]'
	@touch $(READY)
