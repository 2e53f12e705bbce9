# What the Makefile of a plugin in Go includes, after it has set:
#   NAME  of build/NAME.wasm
#   SDK   where this file lies
# It may set CHECKS, targets that `make test` calls first; OARLOCK, the host's command; GO, the Go command; VENV, where Go is put when there is none.
OARLOCK ?= oarlock
include $(SDK)/go.mk

WASM := build/$(NAME).wasm
# A definition travels in the component, with the grant and the documentation.
ATTACHMENTS := $(if $(wildcard crd.yaml),--crd crd.yaml --grant grant.yaml --documentation README.md)
SOURCES := $(shell find . -name '*.go' -not -path './.*' -not -path './sdk/*') go.mod $(wildcard go.sum) \
  $(wildcard $(SDK)/*.go $(SDK)/abi/*.go $(SDK)/oarlockhttp/*.go $(SDK)/conversion/*.go $(SDK)/internal/*/* $(SDK)/cmd/oarlock-link/*.go)

.PHONY: build test unit install clean
.DEFAULT_GOAL := build

build: $(WASM) ## the component, and what the host makes of it
	@$(OARLOCK) inspect $<

test: $(CHECKS) unit $(WASM) ## unit tests, then the cases in the host's own sandbox
	@$(OARLOCK) test $(WASM) --cases cases
	@test ! -d scenarios || $(OARLOCK) test $(WASM) --scenarios scenarios

unit: | go ## the unit tests, without WebAssembly
	@GOEXPERIMENT=$(EXPERIMENT) $(GO) test ./...

# encoding/json on top of its second version, which Go has from 1.27 on, takes half as long again for the documents of a plugin, and is a
# fifth of the component.
EXPERIMENT = $(shell GOEXPERIMENT=nojsonv2 $(GO) env GOEXPERIMENT >/dev/null 2>&1 && echo nojsonv2)

# The linker of the SDK makes a plugin of what the compiler makes: see sdk/README.md.
$(WASM): build/compiled.wasm $(wildcard crd.yaml grant.yaml README.md)
	@cp $< $@.new
	@test -z "$(ATTACHMENTS)" || $(OARLOCK) attach $@.new $(ATTACHMENTS)
	@mv $@.new $@

build/compiled.wasm: $(SOURCES) | go
	@mkdir -p build
	@GOEXPERIMENT=$(EXPERIMENT) GOOS=wasip1 GOARCH=wasm $(GO) build -buildmode=c-shared -trimpath -ldflags='-s -w' -o build/compiled .
	@GOOS= GOARCH= $(GO) run oarlock.dev/oarlock/cmd/oarlock-link build/compiled $@

# The grant first: the host looks for it when the component appears. A rename is seen as a whole.
install: $(WASM) ## into a plugin directory: make install DIR=plugins
	@test -n "$(DIR)" || { echo 'make install DIR=PLUGINS: the directory that the host takes plugins from' >&2; exit 1; }
	@mkdir -p "$(DIR)"
	@cp grant.yaml "$(DIR)/.$(NAME).yaml.new" && mv "$(DIR)/.$(NAME).yaml.new" "$(DIR)/$(NAME).yaml"
	@cp $(WASM) "$(DIR)/.$(NAME).wasm.new" && mv "$(DIR)/.$(NAME).wasm.new" "$(DIR)/$(NAME).wasm"

clean: ## everything but Go
	rm -rf build
