# `make book` and `make test` are all a reader needs; `make help` lists the rest.
PYTHON ?= python3
PORT ?= 8000
PY := .venv/bin/python
READY := .venv/.ready
SITE := book/_build/html

.PHONY: help book test lab build zip execute exercises lint set-repository clean
.DEFAULT_GOAL := help

help:  ## list these commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 18

# Set-up, skipped while what it depends on is unchanged.
$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed, and $(PYTHON) is older: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@git config diff.jupyternotebook.command '"$(CURDIR)/.venv/bin/git-nbdiffdriver" diff' 2>/dev/null || true
	@touch $@

book: build  ## set up, build the site, serve it (PORT=8001 for another port)
	@echo "Attention, Live: http://127.0.0.1:$(PORT)/   (Ctrl-C stops it; PORT=8001 chooses another port)"
	@$(PY) -m http.server $(PORT) --bind 127.0.0.1 --directory $(SITE) >/dev/null 2>&1 \
	  || { code=$$?; [ $$code -eq 130 ] || echo "could not serve at port $(PORT): is it taken? Try make book PORT=8001"; exit $$code; }

build: $(READY)  ## build the site into book/_build/html
	.venv/bin/jupyter-book build book -n -W --keep-going --quiet

zip: $(READY)  ## pack the site into book/_build/attention-live.zip
	rm -rf $(SITE)
	@$(MAKE) --no-print-directory build
	$(PY) tools/make_zip.py $(SITE) book/_build/attention-live.zip

test: $(READY) lint  ## run every test
	$(PY) -m pytest -n auto --dist loadfile --no-loadscope-reorder tests
	$(PY) -m pytest -n auto --dist loadfile --nbval notebooks

lab: $(READY)  ## open the notebooks in JupyterLab
	cd notebooks && ../$(PY) -m jupyterlab $(if $(filter 0,$(shell id -u)),--allow-root)

execute: $(READY)  ## run the notebooks and store their outputs (CHAPTER=02 for one)
	$(PY) tools/run_notebooks.py $(CHAPTER)

exercises: $(READY)  ## write reader's copies of the notebooks, without outputs and solutions (FOLDER=…)
	@$(PY) tools/copy_exercises.py "$(FOLDER)"

lint: $(READY)  ## check style
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

set-repository: $(READY)  ## write the repository's address everywhere (URL=https://github.com/…, or URL= for none)
	$(PY) tools/set_repository.py $(if $(filter-out undefined,$(origin URL)),"$(URL)")

clean:  ## remove everything that make made
	-git config --unset diff.jupyternotebook.command
	rm -rf .venv build book/_build src/*.egg-info .pytest_cache .hypothesis
	find . \( -name __pycache__ -o -name .ruff_cache -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +
