# Everything a developer runs. `make help` lists it.
SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory

export CARGO_TARGET_DIR ?= $(CURDIR)/target
PLUGINS := $(CARGO_TARGET_DIR)/plugins/out
TEST_PLUGINS := $(CARGO_TARGET_DIR)/plugins/tests
BIN := $(CARGO_TARGET_DIR)/debug

# One way to build, whatever is asked for: cargo unifies features over what it builds at once, so that different selections
# would compile wasmtime again.
BUILD := cargo build --workspace --bins --tests

# The languages beside Rust whose components and SDKs are tested: make test takes the first one alone.
ALL_LANGUAGES := js ts python c go
LANGUAGES ?= js

.PHONY: help setup kubectl registry tools build plugins test-plugins languages language-tools sdk-tests demo demo-build test test-all campaigns test-kubernetes test-neutron test-node check-controllers check-plugins conformance differential book reference lint torture fuzz fuzz-plugin soak bench profile image release clean types-campaign

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: ## check for what is needed, and make the WebAssembly target available
	@scripts/setup.sh

# The story and some tests drive the API server as a user would.
kubectl:
	@command -v kubectl >/dev/null || { echo 'kubectl is needed: https://kubernetes.io/docs/tasks/tools' >&2; exit 1; }

# Plugins are pulled from a real registry.
registry:
	@scripts/registry.sh >/dev/null

# Their tests are left out where they cannot be had.
tools:
	@scripts/tools.sh || true

build: setup ## build the host, the emulator and the tests
	@$(BUILD)

plugins: ## build the plugins into target/plugins/out
	@scripts/build-plugins.sh $(PLUGINS)

test-plugins:
	@scripts/build-plugins.sh $(TEST_PLUGINS)
	@scripts/build-plugins.sh --guests $(TEST_PLUGINS)

language-tools:
	@scripts/build-languages.sh --check $(LANGUAGES)

languages: language-tools build
	@OARLOCK_BIN=$(BIN)/oarlock scripts/build-languages.sh $(TEST_PLUGINS) $(LANGUAGES)

# The programs of the story alone. The test beside them has cargo choose the features of all other builds.
demo-build: setup
	@cargo build --workspace --bin oarlock --bin neutron-emulator --bin demo --test corpus

demo: kubectl demo-build plugins ## play the story with real processes and stay up; ONCE=1 plays it, checks it and ends
	@OARLOCK_BIN=$(BIN)/oarlock NEUTRON_EMULATOR_BIN=$(BIN)/neutron-emulator OARLOCK_PLUGINS=$(PLUGINS) \
	  $(BIN)/demo $(if $(ONCE),--once)

# Says something only when one fails. Go is left out where make languages left it out.
sdk-tests: language-tools ## unit tests of the SDKs of the other languages and of what is written with them, without WebAssembly
	@for language in $(LANGUAGES); do \
	  venv=$(CARGO_TARGET_DIR)/languages/$$language unit=unit; \
	  case $$language in js | python | go) unit=test ;; esac; \
	  [ $$language != go ] || $(MAKE) -s -C guest-sdk/go go VENV=$$venv >/dev/null 2>&1 || continue; \
	  for tests in guest-sdk/$$language:$$unit plugins/namespace-baseline/$$language:unit; do \
	    folder=$${tests%:*}; [ -d $$folder ] || continue; \
	    said=$$($(MAKE) -C $$folder $${tests#*:} VENV=$$venv 2>&1) || \
	      { printf '%s\n' "$$said" "make -C $$folder $${tests#*:} failed" >&2; exit 1; }; \
	  done; \
	done

# Tests wait for processes half of the time: more threads than cores. Those of the second tier compute: five keep two cores busy, and with more
# each takes longer. The plugins are compiled ahead: compilers have low priority, and beside tests they take minutes.
test: kubectl registry tools languages test-plugins sdk-tests ## every crate and behaviour, with Rust and JavaScript; no cluster needed
	@mkdir -p $(CARGO_TARGET_DIR)/tmp
	@printf '%s\n' $(TEST_PLUGINS)/*.wasm | xargs -n 1 -P 2 $(BIN)/oarlock compile --cache-dir $(BIN)/code-cache/oarlock >/dev/null 2>&1 || true
	@cargo test --workspace --doc
	@log=$(CARGO_TARGET_DIR)/tmp/tests.log failed=0; \
	  OARLOCK_BIN=$(BIN)/oarlock NEUTRON_EMULATOR_BIN=$(BIN)/neutron-emulator OARLOCK_PLUGINS=$(TEST_PLUGINS) \
	  OARLOCK_LANGUAGES="rust $(LANGUAGES)" RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$(if $(ALL),5,12)} \
	  cargo --config 'target."cfg(all())".runner=["$(CURDIR)/scripts/time-tests.sh"]' test --workspace --tests --no-fail-fast \
	  $(if $(ALL),-- --include-ignored) | tee $$log || failed=1; scripts/test-summary.sh $$log; exit $$failed

test-all: ## make test with the tests that take minutes, every language, a real Neutron, and real control planes where their programs are
	@$(MAKE) test ALL=1 LANGUAGES="$(ALL_LANGUAGES)"
	@$(MAKE) test-neutron
	@$(MAKE) conformance
	@if [ -d $(CARGO_TARGET_DIR)/definitions ]; then $(MAKE) types-campaign; \
	  else echo "SKIPPED: make types-campaign: it fetches definitions into $(CARGO_TARGET_DIR)/definitions"; fi
	@if missing=$$(tests/kubernetes/control-plane.sh check 2>&1 >/dev/null); then $(MAKE) test-kubernetes && $(MAKE) differential; \
	  else echo "SKIPPED: make test-kubernetes, make differential: $$missing"; fi

# Definitions of other projects are not in this repository: the first run fetches them.
types-campaign: ## types of other projects' definitions in every language, compiled, with objects read and written: FOLDER=target/definitions ONLY="go c"
	@ONLY="$(ONLY)" tests/types/campaign.sh $(or $(FOLDER),$(CARGO_TARGET_DIR)/definitions)

# A soak of eleven minutes gives each kind of turn a whole one: torture, the operation sequences of each shipped plugin, the random tests.
campaigns: ## half an hour of everything random: torture, soak in real time, a day in simulated time
	@$(MAKE) torture
	@$(MAKE) soak MINUTES=11
	@$(MAKE) soak HOURS=24

test-kubernetes: LANGUAGES = $(ALL_LANGUAGES)
test-kubernetes: kubectl registry languages test-plugins ## the end-to-end tests on real control planes, of KUBEBUILDER_ASSETS or of KUBECONFIG_E2E; ONLY="part of a name"
	@OARLOCK_BIN=$(BIN)/oarlock NEUTRON_EMULATOR_BIN=$(BIN)/neutron-emulator OARLOCK_PLUGINS=$(TEST_PLUGINS) \
	  tests/kubernetes/run.sh $(ONLY)

test-neutron: kubectl build test-plugins ## the story against a real Neutron, without and with Keystone (installs it; minutes the first time)
	@OARLOCK_BIN=$(BIN)/oarlock OARLOCK_PLUGINS=$(TEST_PLUGINS) tests/neutron/test.sh

check-controllers: kubectl build ## oarlock check --command of controllers of kube-rs, kopf and controller-runtime (needs Go): bugs are found, and nothing else (real time: an idle machine, 30 minutes)
	@OARLOCK_BIN=$(BIN)/oarlock NEUTRON_EMULATOR_BIN=$(BIN)/neutron-emulator OARLOCK_PLUGINS=$(TEST_PLUGINS) OARLOCK_CONTROLLERS=1 RUST_TEST_THREADS=1 \
	  cargo test --workspace --test e2e -- --include-ignored check_command::

check-plugins: build test-plugins ## oarlock check of the shipped plugins and of fresh projects, one after the other: MINUTES=1 of each, ONLY="traffic new-rust", SEED=N
	@OARLOCK_BIN=$(BIN)/oarlock OARLOCK_PLUGINS=$(TEST_PLUGINS) SEED="$(SEED)" scripts/check-plugins.sh $(or $(MINUTES),1) $(ONLY)

test-node: setup build plugins ## docs/operations.md on a Kubernetes node with Pods that run (needs root and the programs of Kubernetes); ONLY=part, IMAGE=target/image
	@OARLOCK_BIN=$(BIN)/oarlock NEUTRON_EMULATOR_BIN=$(BIN)/neutron-emulator OARLOCK_PLUGINS=$(PLUGINS) tests/node/test.sh

conformance: build ## replay recordings of a real API server against the embedded one and print the table
	@OARLOCK_BIN=$(BIN)/oarlock tests/conformance/run.sh

# Without SEED the recordings, sent to both servers now.
DIFFERENTIAL = $(if $(SEED),--seed $(SEED) --minutes $(or $(MINUTES),0.5) --out $(CARGO_TARGET_DIR)/differences,--replay tests/conformance/cases)
differential: build ## what a real API server (KUBEBUILDER_ASSETS) and the embedded one answer, compared: SEED=N MINUTES=N for random requests, else the recordings
	@OARLOCK_BIN=$(BIN)/oarlock PYTHONDONTWRITEBYTECODE=1 python3 tests/differential/differential.py $(DIFFERENTIAL)

book: ## the documentation as a website in target/book/html, with its links checked
	@scripts/book.sh

reference: build ## write the pages and schemas that come from sources: docs/contract.md, docs/reference, wit/*.schema.json
	@UPDATE_EXPECT=1 cargo test --workspace --lib -- the_published_schemas_are_the_types
	@OARLOCK_BIN=$(BIN)/oarlock UPDATE_EXPECT=1 cargo test --workspace --test e2e -- reference:: plugin_objects::definition

lint: setup book ## format, clippy, documentation, book and supply chain checks
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --quiet
	@scripts/supply-chain.sh
	@promtool=$$(command -v promtool || echo $(CARGO_TARGET_DIR)/tools/bin/promtool); if [ -x "$$promtool" ]; then \
	  "$$promtool" check rules --lint=all --lint-fatal deploy/monitoring/alerts.yaml && "$$promtool" test rules deploy/monitoring/alerts-test.yaml; \
	else echo 'lint: without promtool the alert rules are not checked (make tools)'; fi

torture: setup ## swap plugins for two minutes at most while the host is killed, and check that nothing is lost; SEED=N SECONDS=N
	@cargo build --release --workspace --bins
	@scripts/build-plugins.sh --guests $(TEST_PLUGINS)
	@OARLOCK_PLUGINS=$(TEST_PLUGINS) $(CARGO_TARGET_DIR)/release/torture \
	  $(if $(SEED),--seed $(SEED)) $(if $(SECONDS),--seconds $(SECONDS))

fuzz: setup ## coverage-guided fuzzing of whatever the host reads, a minute for each target: TARGET=NAME SECONDS=N; see docs/fuzzing.md
	@scripts/fuzz.sh $(or $(SECONDS),60) $(TARGET)

fuzz-plugin: build ## random operations against any plugin, and what must hold of it: PLUGIN=FILE [CRD= BASE= BESIDE= GRANT= SEED= SECONDS= QUIET= …]; see docs/fuzzing.md
	@OARLOCK_BIN=$(BIN)/oarlock NEUTRON_EMULATOR_BIN=$(BIN)/neutron-emulator $(BIN)/fuzz-plugin --save $(CARGO_TARGET_DIR)/fuzz-plugin-failure.json \
	  --plugin $(or $(PLUGIN),$(error PLUGIN=FILE.wasm is needed)) $(foreach file,$(CRD),--crd $(file)) $(if $(BASE),--base $(BASE)) $(if $(BESIDE),--beside $(BESIDE)) \
	  $(if $(GRANT),--grant $(GRANT)) $(foreach one,$(TARGET),--target $(one)) $(foreach path,$(LOOK),--look $(path)) \
	  $(foreach at,$(FIXED),--fixed $(at)) $(foreach name,$(IGNORE),--ignore $(name)) $(if $(SEED),--seed $(SEED)) \
	  $(if $(SECONDS),--seconds $(SECONDS)) $(if $(WRITES),--writes $(WRITES)) $(if $(QUIET),--quiet-seconds $(QUIET)) $(if $(REPLAY),--replay $(REPLAY))

soak: test-plugins ## MINUTES=N [SEED=N]: everything random, in turns, until it fails; HOURS=N: so many hours of a long week (168) in simulated time
ifdef HOURS
	@cargo build --release --workspace --bins
	@OARLOCK_PLUGINS=$(TEST_PLUGINS) $(CARGO_TARGET_DIR)/release/soak --hours $(HOURS)
else
	@$(MAKE) build
	@OARLOCK_BIN=$(BIN)/oarlock NEUTRON_EMULATOR_BIN=$(BIN)/neutron-emulator OARLOCK_PLUGINS=$(TEST_PLUGINS) \
	  scripts/soak.sh $(or $(MINUTES),$(error MINUTES=N or HOURS=N is needed))
endif

bench: setup kubectl ## figures beside a native controller, of every language, of many plugins; ONLY="compare languages", BASE=COMMIT of ONLY=guard, OPTIONS=…; see docs/performance.md
	@OPTIONS="$(OPTIONS)" BASE="$(BASE)" tests/bench/run.sh $(ONLY)

profile: setup build ## record a load, in target/profile/oarlock.profdata: OARLOCK_PROFILE=… of make image and make release builds a program for it
	@scripts/profile.sh

image: setup ## the host with its plugins as an OCI image layout in target/image, without an engine; the same bytes every time
	@scripts/image.sh

release: setup ## the files of a release for this architecture: program, images, bill of materials, in target/release-files
	@scripts/release.sh

clean: ## remove what was built
	cargo clean
