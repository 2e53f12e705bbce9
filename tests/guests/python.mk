# What the Makefile of a guest in Python includes, after it has set:
#   NAME   of build/NAME.wasm
SDK := ../../../../guest-sdk/python
WIT := ../../../../wit
OARLOCK ?= oarlock
PYTHON ?= python3
VENV ?= .venv

WASM := build/$(NAME).wasm

.PHONY: build clean

build: $(WASM)
	$(OARLOCK) inspect $(WASM)

$(WASM): app.py $(wildcard $(SDK)/oarlock/*.py) $(SDK)/componentize.py $(WIT)/reconciler.wit $(VENV)/installed
	@mkdir -p build
	@$(PYTHON) $(SDK)/componentize.py $(VENV)/bin/componentize-py --wit-path $(WIT) --world plugin componentize app \
	  --python-path . --python-path $(SDK) --output $@.part
	@mv -f $@.part $@

# A copy of what is installed: where VENV is one for several projects, another one's file with the same in it installs nothing, and
# has nothing built anew.
$(VENV)/installed: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo 'Python 3.11 or newer is needed (PYTHON=…): https://www.python.org/downloads' >&2; exit 1; }
	@cmp -s $< $@ || { $(PYTHON) -m venv $(VENV) >/dev/null || { echo 'the venv module is needed: apt install python3-venv' >&2; exit 1; }; \
	  $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $< && cp $< $@; }

clean:
	rm -rf build $(VENV) __pycache__
