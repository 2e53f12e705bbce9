# What the Makefile of a plugin in C includes, after it has set:
#   NAME     of build/NAME.wasm
#   SDK      where this file lies
#   SOURCES  of the reconciler (src/*.c), TESTS programs with its unit tests (tests/*.c)
# It may set CHECKS, targets that `make test` calls first; OARLOCK, the host's command; VENV, where the compiler is kept; ZIG, a compiler that is there already; CC, the native compiler of
# the tests; WASM_STACK, the bytes of the stack.
OARLOCK ?= oarlock
SOURCES ?= $(wildcard src/*.c)
TESTS ?= $(wildcard tests/*.c)
VENV ?= .venv
# A definition travels in the component, with the grant and the documentation.
ATTACHMENTS := $(if $(wildcard crd.yaml),--crd crd.yaml --grant grant.yaml --documentation README.md)
ZIG ?= $(VENV)/bin/python -m ziglang
ZIG_VERSION := $(shell sed -n 's/^ziglang==\([0-9.]*\).*/\1/p' $(SDK)/requirements.txt)
ZIG_GLOBAL_CACHE_DIR ?= $(abspath $(VENV))/zig-cache
ZIG_LOCAL_CACHE_DIR ?= $(abspath build)/zig-cache
export ZIG_GLOBAL_CACHE_DIR ZIG_LOCAL_CACHE_DIR

# SDK_WASM: for components; SDK_NATIVE: for unit tests. A guest that brings its own empties the first.
SDK_COMMON := $(wildcard $(SDK)/src/*.c)
# libc.c is first: what it defines must be known before somebody refers to it, or the library's own is taken as well.
SDK_WASM ?= $(SDK)/src/libc.c $(filter-out %/libc.c,$(SDK_COMMON)) $(SDK)/gen/plugin.c
SDK_NATIVE ?= $(filter-out %/wasm.c %/libc.c,$(SDK_COMMON)) $(wildcard $(SDK)/src/testing/*.c)
# What a plugin that converts exports as well: an archive, of which the linker takes what a program refers to (OARLOCK_CONVERTER).
SDK_CONVERSION := $(SDK)/src/conversion/export.c $(SDK)/gen/converter.c
# Those of a plugin too: types that `oarlock types` wrote.
SDK_HEADERS := $(wildcard src/*.h $(SDK)/include/*.h $(SDK)/include/*/*.h $(SDK)/src/*.h $(SDK)/src/*/*.h $(SDK)/gen/*.h)

# A list that leaves fields of a structure out is how the SDK is used; its end is {0}, whatever the structure begins with. For clang these
# must follow -Wextra.
CFLAGS ?= -Wall -Wextra -Wno-missing-field-initializers -Wno-missing-braces
OARLOCK_CFLAGS := -std=c11 -I$(SDK)/include
# The stack has 1 MiB, as that of Rust has: with zig's own 16 MiB, each instance counted as that large.
WASM_STACK ?= 1048576
# zig cc turns assertions off when it optimizes: what a unit test asserts holds in the component too.
WASM_CFLAGS := -target wasm32-wasi -mexec-model=reactor -Os -UNDEBUG
# Errors of memory and undefined behaviour end a unit test, where the native compiler can find them.
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined
SANITIZE := $(shell echo 'int main(void) { return 0; }' | $(CC) $(SANITIZE) -x c - -o /dev/null 2>/dev/null && echo $(SANITIZE))
NATIVE_CFLAGS ?= -g -O1 -fno-omit-frame-pointer $(SANITIZE)

objects = $(patsubst %.c,$(1)/%.o,$(subst ../,up/,$(2)))
WASM_OBJECTS := $(call objects,build/wasm,$(SDK_WASM) $(SOURCES))
NATIVE_OBJECTS := $(call objects,build/native,$(SOURCES) $(SDK_NATIVE))
TEST_PROGRAMS := $(patsubst tests/%.c,build/tests/%,$(TESTS))

.PHONY: build test unit install clean
.DEFAULT_GOAL := build
# Objects are kept.
.SECONDARY:

build: build/$(NAME).wasm ## the component, and what the host makes of it
	@$(OARLOCK) inspect $<

test: $(CHECKS) unit build/$(NAME).wasm ## unit tests, then the cases in the host's own sandbox
	@$(OARLOCK) test build/$(NAME).wasm --cases cases
	@test ! -d scenarios || $(OARLOCK) test build/$(NAME).wasm --scenarios scenarios

unit: $(TEST_PROGRAMS) ## the tests of tests/, without WebAssembly
	@for program in $(TEST_PROGRAMS); do $$program || exit 1; done

# The grant first: the host looks for it when the component appears. A rename is seen as a whole.
install: build/$(NAME).wasm ## into a plugin directory: make install DIR=plugins
	@test -n "$(DIR)" || { echo 'make install DIR=PLUGINS: the directory that the host takes plugins from' >&2; exit 1; }
	@mkdir -p "$(DIR)"
	@cp grant.yaml "$(DIR)/.$(NAME).yaml.new" && mv "$(DIR)/.$(NAME).yaml.new" "$(DIR)/$(NAME).yaml"
	@cp build/$(NAME).wasm "$(DIR)/.$(NAME).wasm.new" && mv "$(DIR)/.$(NAME).wasm.new" "$(DIR)/$(NAME).wasm"

clean: ## everything but the compiler
	rm -rf build

build/$(NAME).wasm: build/compiled.wasm $(wildcard crd.yaml grant.yaml README.md)
	@cp $< $@.new
	@test -z "$(ATTACHMENTS)" || $(OARLOCK) attach $@.new $(ATTACHMENTS)
	@mv $@.new $@

build/compiled.wasm: $(WASM_OBJECTS) $(SDK)/gen/plugin_component_type.o build/wasm/libconversion.a
	@$(ZIG) cc $(WASM_CFLAGS) $^ -s -Wl,-z,stack-size=$(WASM_STACK) -o $@.new && chmod 644 $@.new && mv $@.new $@

build/wasm/libconversion.a: $(call objects,build/wasm,$(SDK_CONVERSION)) $(SDK)/gen/converter_component_type.o
	@rm -f $@
	@$(ZIG) ar rcs $@ $^

define compile
build/wasm/$(subst ../,up/,$(1:.c=.o)): $(1) $(SDK_HEADERS) | compiler
	@mkdir -p $$(@D)
	@$$(ZIG) cc $$(WASM_CFLAGS) $$(OARLOCK_CFLAGS) $$(CFLAGS) -c $$< -o $$@
build/native/$(subst ../,up/,$(1:.c=.o)): $(1) $(SDK_HEADERS) | native-compiler
	@mkdir -p $$(@D)
	@$$(CC) $$(NATIVE_CFLAGS) $$(OARLOCK_CFLAGS) $$(CFLAGS) -c $$< -o $$@
endef
$(foreach source,$(sort $(SOURCES) $(SDK_WASM) $(SDK_CONVERSION) $(SDK_NATIVE)),$(eval $(call compile,$(source))))

build/tests/%: tests/%.c $(NATIVE_OBJECTS)
	@mkdir -p $(@D)
	@$(CC) $(NATIVE_CFLAGS) $(OARLOCK_CFLAGS) $(CFLAGS) $^ -lm -o $@

.PHONY: compiler native-compiler
native-compiler:
	@command -v $(firstword $(CC)) >/dev/null || { echo 'a C compiler is needed for the unit tests: apt-get install gcc (Debian, Ubuntu), xcode-select --install (macOS)' >&2; exit 1; }

# The C compiler for WebAssembly is a Python package; it is put into $(VENV) once.
ifeq ($(ZIG),$(VENV)/bin/python -m ziglang)
compiler: $(VENV)/ziglang-$(ZIG_VERSION)
else
compiler:
endif

$(VENV)/ziglang-$(ZIG_VERSION):
	@command -v python3 >/dev/null || { echo 'python3 is needed to fetch the C compiler: apt-get install python3-venv (Debian, Ubuntu), brew install python (macOS)' >&2; exit 1; }
	@python3 -m venv $(VENV) || { echo 'the venv module of python3 is needed: apt-get install python3-venv (Debian, Ubuntu)' >&2; exit 1; }
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $(SDK)/requirements.txt
	@touch $@
