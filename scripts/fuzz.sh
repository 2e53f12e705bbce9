#!/usr/bin/env bash
# Fuzzes with libFuzzer: docs/fuzzing.md.
#
#   scripts/fuzz.sh [--merge] SECONDS [TARGET…]     without a target, all of them, one on each core
#
# What it finds is added to the corpus in the target folder; --merge then makes fuzz/corpus the smallest one that reaches as much. An input
# that fails is kept in fuzz/regressions/TARGET, where `make test` plays it. Exit 0, too, where there is no C++ compiler.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

merge=
if [ "${1-}" = --merge ]; then merge=1; shift; fi
seconds=${1:?usage: fuzz.sh [--merge] SECONDS [TARGET…]}
shift
target_folder=${CARGO_TARGET_DIR:-$PWD/target}
found=$target_folder/fuzz

if ! command -v "${CXX:-c++}" >/dev/null; then
  echo "SKIPPED: fuzzing: libFuzzer needs a C++ compiler (apt-get install g++)"
  exit 0
fi
mapfile -t all < <(sed -n 's/^    ("\([a-z_]*\)", .*),$/\1/p' fuzz/src/lib.rs)
[ $# -gt 0 ] || set -- "${all[@]}"
for target; do
  [[ " ${all[*]} " == *" $target "* ]] || { echo "fuzz: no such target: $target; there are ${all[*]}" >&2; exit 1; }
done

cargo build --quiet --locked --manifest-path fuzz/engine/Cargo.toml --target-dir "$target_folder/fuzz-engine"
library=$(find "$target_folder/fuzz-engine" -name libfuzzer.a -printf '%T@ %h\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-)
# The test beside the program has cargo choose the features of all other builds, so that wasmtime is not compiled again.
RUSTC_WORKSPACE_WRAPPER=$PWD/scripts/fuzz-rustc.sh FUZZ_ENGINE=$library \
  cargo build --workspace --bin oarlock-fuzz --test corpus --features oarlock-fuzz/libfuzzer
program=$target_folder/debug/oarlock-fuzz

# Longest input, in bytes.
longest() { case $1 in wasm) echo 65536 ;; admission_review | list_watch | manifest) echo 8192 ;; *) echo 4096 ;; esac; }

fuzz() {
  local target=$1 own=$found/$1 log=$found/$1.log
  mkdir -p "$own" "fuzz/regressions/$target"
  local began=$SECONDS status=0
  TARGET=$target nice -n 15 "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len="$(longest "$target")" \
    -dict=fuzz/tokens.dict -artifact_prefix="fuzz/regressions/$target/" -print_final_stats=1 -use_value_profile=1 \
    "$own" "fuzz/corpus/$target" >"$log" 2>&1 || status=$?
  rmdir --ignore-fail-on-non-empty "fuzz/regressions/$target"
  local runs coverage
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  coverage=$(grep -o ' cov: [0-9]*' "$log" | tail -n 1 | tr -dc 0-9 || true)
  printf '%-17s %11s executions  %5s edges  %4s s  %s\n' "$target" "${runs:-?}" "${coverage:-?}" $((SECONDS - began)) \
    "$([ $status = 0 ] && echo ok || echo "FAILED: $log")"
  [ $status = 0 ] || return 1
  [ -z "$merge" ] || smallest "$target"
}

# Of what reaches new code the smallest inputs, at most fifty; those with a name were written by hand.
smallest() {
  local target=$1 small name kept=0
  small=$(mktemp -d)
  TARGET=$target nice -n 15 "$program" -merge=1 -timeout=10 -rss_limit_mb=2048 -max_len="$(longest "$target")" \
    "$small" "fuzz/corpus/$target" "$found/$target" >>"$found/$target.log" 2>&1
  find "fuzz/corpus/$target" -type f -regextype egrep -regex '.*/[0-9a-f]{40}' -delete
  while read -r name; do
    if [ "$kept" -lt 50 ]; then cp "$name" "fuzz/corpus/$target/"; fi
    kept=$((kept + 1))
  done < <(find "$small" -type f -printf '%s %p\n' | sort -n | cut -d ' ' -f 2-)
  rm -r "$small"
}

running=0 failed=0
for target; do
  if [ "$running" -ge "$(nproc)" ]; then
    wait -n || failed=1
    running=$((running - 1))
  fi
  fuzz "$target" &
  running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
  wait -n || failed=1
  running=$((running - 1))
done
exit "$failed"
