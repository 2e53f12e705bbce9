# What the Makefile of a guest in JavaScript or TypeScript includes, after it has set:
#   NAME     of build/NAME.wasm
#   SOURCE   its main file
# It may set RAW to --raw, for a guest that does not use the SDK, and BEFORE to a command that runs first.
OARLOCK ?= oarlock
SDK := ../../../../guest-sdk/js
WIT := ../../../../wit/reconciler.wit
WASM := build/$(NAME).wasm

.PHONY: build clean

build: $(WASM)
	@$(OARLOCK) inspect $(WASM)

$(WASM): node_modules/.installed $(WIT) $(wildcard src/* $(SDK)/src/*.js $(SDK)/bin/*.js)
	@$(BEFORE)
	@node_modules/.bin/oarlock-componentize $(SOURCE) $(RAW) --wit $(WIT) -o $@

clean:
	@rm -rf build node_modules

node_modules/.installed: package.json
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null && command -v npm >/dev/null || { echo 'node 20 or newer and npm are needed: https://nodejs.org' >&2; exit 1; }
	@npm install --ignore-scripts --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@
