#!/usr/bin/env bash
# Build plugins for WebAssembly.
#
#   scripts/build-plugins.sh [--guests] [OUT_DIR] [PLUGIN…]
#
# Every crate in plugins/* and plugins/*/* that is a cdylib is built with the `plugin` profile and copied to OUT_DIR (default
# target/plugins/out) as NAME.wasm, with the grant in its folder, NAME.yaml or grant.yaml, as NAME.yaml. NAME is its folder
# below plugins/, with - for /. PLUGIN limits the build to such names. With --guests the tests' guests (tests/guests) are
# built instead.
#
# A file that did not change is left alone, so that a host that watches OUT_DIR does not load it again. The build has a
# target folder of its own, ${CARGO_TARGET_DIR:-target}/plugins: a host build that runs meanwhile does not wait for it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
started_in=$PWD
cd "$here/.."
target=wasm32-unknown-unknown

die() { printf '%s\n' "build-plugins: $*" >&2; exit 1; }

folder=plugins
if [ "${1-}" = --guests ]; then folder=tests/guests; shift; fi
case ${1-} in -*) die "usage: build-plugins.sh [--guests] [OUT_DIR] [PLUGIN…]" ;; esac
target_dir=${CARGO_TARGET_DIR:-target}/plugins
out=$target_dir/out
if [ $# -gt 0 ]; then
  case $1 in /*) out=$1 ;; *) out=$started_in/$1 ;; esac
  shift
fi

"$here/setup.sh"
# shellcheck disable=SC1091
source "${CARGO_TARGET_DIR:-target}/wasm.env"
if [ -n "${WASM_RUSTC-}" ]; then export RUSTC=$WASM_RUSTC; fi
# Cargo would prefer RUSTFLAGS to the target's own flags; with --target neither reaches build scripts.
if [ -n "${RUSTFLAGS-}" ]; then
  export RUSTFLAGS="$RUSTFLAGS ${CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS-}"
fi

# toml SECTION KEY FILE: a string value of a manifest
toml() { awk -F'"' -v section="[$1]" -v key="$2" '/^\[/ {in_section = ($0 == section)} in_section && $1 ~ "^" key " *= *$" {print $2; exit}' "$3"; }

# folder_of NAME: the crate's folder
folder_of() {
  local manifest crate
  for manifest in "$folder"/*/Cargo.toml "$folder"/*/*/Cargo.toml; do
    crate=${manifest%/Cargo.toml}
    if [ "$(name_of "$crate")" = "$1" ] && grep -q '"cdylib"' "$manifest" 2>/dev/null; then printf '%s' "$crate"; return; fi
  done
  die "there is no cdylib crate for $1 in $folder"
}
name_of() { local below=${1#"$folder"/}; printf '%s' "${below//\//-}"; }

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  for manifest in "$folder"/*/Cargo.toml "$folder"/*/*/Cargo.toml; do
    if grep -q '"cdylib"' "$manifest" 2>/dev/null; then names+=("$(name_of "${manifest%/Cargo.toml}")"); fi
  done
fi
[ ${#names[@]} -gt 0 ] || die "no cdylib crate in $folder"

packages=()
for name in "${names[@]}"; do
  crate=$(folder_of "$name")
  packages+=(--package "$(toml package name "$crate/Cargo.toml")")
done
cargo build --profile plugin --target "$target" --target-dir "$target_dir" "${packages[@]}"

# place FROM TO: by rename, so that nobody reads half a file
place() {
  if cmp -s "$1" "$2"; then return; fi
  cp "$1" "$2.new"
  mv "$2.new" "$2"
}

mkdir -p "$out"
for name in "${names[@]}"; do
  crate=$(folder_of "$name")
  library=$(toml lib name "$crate/Cargo.toml")
  if [ -z "$library" ]; then library=$(toml package name "$crate/Cargo.toml"); library=${library//-/_}; fi
  place "$target_dir/$target/plugin/$library.wasm" "$out/$name.wasm"
  for grant in "$crate/$name.yaml" "$crate/grant.yaml"; do
    if [ -f "$grant" ]; then place "$grant" "$out/$name.yaml"; break; fi
  done
  printf '%s\n' "$out/$name.wasm ($(($(wc -c <"$out/$name.wasm") / 1024)) KB)"
done
