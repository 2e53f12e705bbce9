#!/usr/bin/env bash
# Check that this machine can build Oarlock and make the WebAssembly target available. Fast when there is nothing to do.
#
#   scripts/setup.sh
#
# What builds for WebAssembly need is written to ${CARGO_TARGET_DIR:-target}/wasm.env, as `export NAME=VALUE` lines that
# both a shell (source) and make (include) can read. Set RUSTUP_AUTO_INSTALL=0 where rustup must not download.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/.."
env_file=${CARGO_TARGET_DIR:-target}/wasm.env
minimum=1.95
target=wasm32-unknown-unknown

say() { printf '%s\n' "setup: $*" >&2; }

missing=no
need() { # need COMMAND… -- HOW: one of the commands must be there
  local names=()
  while [ "$1" != -- ]; do
    if command -v "$1" >/dev/null; then return; fi
    names+=("$1"); shift
  done
  say "missing: ${names[0]}; get it with: $2"
  missing=yes
}
need cargo -- "https://rustup.rs (Rust $minimum or newer)"
need rustc -- "https://rustup.rs (Rust $minimum or newer)"
need cc gcc clang -- "apt-get install gcc libc6-dev (or your system's C compiler)"
[ $missing = no ] || exit 1

version=$(rustc --version)
release=${version#rustc }
release=${release%% *}
IFS=. read -r major minor _ <<<"$release"
if [ "$major" -lt "${minimum%.*}" ] || { [ "$major" -eq "${minimum%.*}" ] && [ "$minor" -lt "${minimum#*.}" ]; }; then
  say "rustc $release is too old, $minimum or newer is needed; get it with: rustup update stable"
  exit 1
fi

# done_before: was this compiler set up already, and is what it needs still there?
done_before() {
  [ -f "$env_file" ] && [ "$(head -n 1 "$env_file")" = "# $version" ] || return 1
  local path paths
  paths=$(sed -n 's/^# needs //p' "$env_file")
  [ -n "$paths" ] || return 1
  while read -r path; do [ -e "$path" ] || return 1; done <<<"$paths"
}
if done_before; then exit; fi

command -v python3 >/dev/null || say "optional: python3 replays the conformance cases; get it with: apt-get install python3"
command -v kubectl >/dev/null || say "kubectl is missing (make demo and make test need it): https://kubernetes.io/docs/tasks/tools"

mkdir -p "$(dirname "$env_file")"
exports=$("$here/setup-wasm-std.sh" "$target")
library=$(rustc --print sysroot)/lib/rustlib/$target
if [ -n "$exports" ]; then
  library=${exports#*=}
  library=${library#--sysroot=}
fi
{
  printf '# %s\n# needs %s\n' "$version" "$library"
  [ -z "$exports" ] || printf '%s\n' "$exports"
} >"$env_file.new"
mv "$env_file.new" "$env_file"
say "ready: $version, $target ($env_file)"
