#!/usr/bin/env bash
# Types of well-known projects' definitions in every language: compiled, and objects read and written with them.
#
#   tests/types/campaign.sh FOLDER
#
# FOLDER has the files of definitions.txt as SHA256.yaml; those that are missing are fetched into it. In every language, the same 20 objects of
# each definition are read, written, and equal. Rust, Go and C drop what their types do not declare. TypeScript and Python keep it, so there the
# compiler or mypy checks a literal of each object, and a validator made of the types (ts-json-schema-generator with ajv; msgspec) reads it.
# Both also get 20 broken objects, with a field missing or a value of another type, and must refuse each.
#
# What a language needs is looked for on the PATH, or named: TSC, with ajv and ts-json-schema-generator in NODE_PATH; MYPY, and a PYTHON with
# msgspec; GO (1.24); CC. A language without it is left out. ONLY="go c" runs some. Results are in target/types; exit 1 when something fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
list=$PWD/tests/types/definitions.txt
here=$PWD/tests/types
sdk=$PWD/guest-sdk/c
mkdir -p "${1:?usage: campaign.sh FOLDER: the folder for the definitions}"
definitions=$(cd "$1" && pwd)
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
out=$CARGO_TARGET_DIR/types
PYTHON=${PYTHON:-python3}
# As make languages leaves it.
GO=${GO:-$(command -v go || echo "$CARGO_TARGET_DIR/languages/go/bin/go")}
rm -rf "$out"
mkdir -p "$out"

while read -r repository commit sha _ path; do
  case $repository in '#'*) continue ;; esac
  file=$definitions/$sha.yaml
  [ -e "$file" ] || curl -fsSL --retry 3 -o "$file.new" "https://raw.githubusercontent.com/$repository/$commit/$path" && [ ! -e "$file.new" ] || mv "$file.new" "$file" ||
    { echo "types-campaign: cannot fetch $path of $repository at $commit" >&2; exit 1; }
  echo "$sha  $file" | sha256sum --check --quiet || { echo "types-campaign: $file is not $path of $repository: remove it" >&2; exit 1; }
done <"$list"

cargo run --quiet -p oarlock-types --example campaign -- "$list" "$definitions" "$out"
total=$(wc -l <"$out/names.txt")
names() { cut -d ' ' -f 1 "$out/names.txt"; }

# A program of a language compiles its types; it prints a line "NAME OBJECTS" for each definition whose objects pass.
rust() {
  cd "$out/rust"
  local name
  cat >Cargo.toml <<'TOML'
[package]
name = "campaign"
version = "0.0.0"
edition = "2024"
[dependencies]
serde = { version = "1", features = ["derive"] }
serde_json = { version = "1", features = ["float_roundtrip"] }
[profile.dev]
debug = 0
[workspace]
TOML
  RUSTFLAGS='-D warnings' cargo build --quiet --bins --target-dir "$out/rust/target" || return 1
  for name in $(names); do "target/debug/$name" || return 1; done
}

ts() {
  cd "$out/ts"
  printf '{"type": "commonjs"}\n' >package.json
  cp "$here/round_trip.cjs" .
  "${TSC:-tsc}" --strict --exactOptionalPropertyTypes --target es2022 --module nodenext ./*.ts && node round_trip.cjs
}

python() {
  cd "$out/python"
  "${MYPY:-mypy}" --strict --no-error-summary ./*.py && PYTHONPATH=. command "$PYTHON" "$here/round_trip.py"
}

go() {
  cd "$out/go"
  local unformatted
  printf 'module campaign\n\ngo 1.24\n' >go.mod
  export GOCACHE=${GOCACHE:-$out/go-cache}
  unformatted=$("$(command "$GO" env GOROOT)/bin/gofmt" -l ./*/)
  [ -z "$unformatted" ] || { echo "not as gofmt writes it: $unformatted" >&2; return 1; }
  command "$GO" vet ./... && command "$GO" build -o run . && ./run
}

c() {
  cd "$out/c"
  local flags=(-std=c11 -D_POSIX_C_SOURCE=200809L "-I$sdk/include") source name
  mkdir -p sdk
  for source in "$sdk"/src/*.c "$sdk"/src/testing/*.c; do
    case $source in */wasm.c | */libc.c) continue ;; esac
    "${CC:-cc}" "${flags[@]}" -O1 -w -c "$source" -o "sdk/$(basename "$source" .c).o" || return 1
  done
  for name in $(names); do
    "${CC:-cc}" "${flags[@]}" -Wall -Wextra -Werror "$name.c" sdk/*.o -lm -o "$name.run" && "./$name.run" || return 1
  done
}

# lacks LANGUAGE: the first thing that it needs and that is not there
lacks() {
  local command commands=()
  case $1 in ts) commands=("${TSC:-tsc}" node) ;; python) commands=("${MYPY:-mypy}" "$PYTHON") ;; go) commands=("$GO") ;; c) commands=("${CC:-cc}") ;; *) commands=(cargo) ;; esac
  for command in "${commands[@]}"; do
    command -v "$command" >/dev/null || { echo "$command"; return; }
  done
  case $1 in
    ts) node -e 'require("ajv"), require("ts-json-schema-generator")' 2>/dev/null || echo "ajv and ts-json-schema-generator in NODE_PATH" ;;
    python) command "$PYTHON" -c 'import msgspec' 2>/dev/null || echo "msgspec for $PYTHON" ;;
  esac
}

failed=0
printf '%-8s %9s %9s\n' language compiled objects >"$out/table.txt"
for language in ${ONLY:-rust ts python go c}; do
  lacking=$(lacks "$language")
  [ -z "$lacking" ] || { echo "types-campaign: without $lacking, $language is left out" >&2; continue; }
  if ("$language") >"$out/$language.log" 2>"$out/$language.err"; then
    awk -v language="$language" -v total="$total" '{ objects += $2 } END { printf "%-8s %5d/%-3d %9d\n", language, NR, total, objects }' "$out/$language.log" >>"$out/table.txt"
  else
    failed=1
    echo "types-campaign: $language failed: $out/$language.err" >&2
    head -n 20 "$out/$language.err" "$out/$language.log" | cut -c 1-300 >&2
  fi
done
cat "$out/table.txt"
exit "$failed"
