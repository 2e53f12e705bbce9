#!/usr/bin/env bash
# Everything that is random, in turns, until the time is over or something fails.
#
#   scripts/soak.sh MINUTES
#
# Each turn has a seed of its own, SEED for the first one (by the clock unless told), one more for each after it. The first
# failure ends it and says how to repeat that turn. `make soak` builds what this needs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
minutes=${1:?usage: soak.sh MINUTES}
case $minutes in *[!0-9]* | 0) echo "soak: MINUTES is a whole number of at least 1" >&2; exit 1 ;; esac
target=${CARGO_TARGET_DIR:-target}
turn_seconds=60
end=$((SECONDS + minutes * 60))
seed=${SEED:-$(($(date +%s) % 1000000))}
turns=0

# turn NAME HOW-TO-REPEAT COMMAND…
turn() {
  local name=$1 again=$2
  shift 2
  [ "$SECONDS" -lt "$end" ] || return 0
  printf '\n== %s, seed %s, after %s s\n' "$name" "$seed" "$SECONDS"
  if ! "$@"; then
    printf '\nsoak: %s failed with seed %s. The same again:\n  %s\n' "$name" "$seed" "$again" >&2
    exit 1
  fi
  turns=$((turns + 1))
}

# Unit tests, again and again, with seeds of their own; they print the one that fails. Some go on for OARLOCK_SOAK_SECONDS.
unit() {
  local until=$((SECONDS + turn_seconds)) said
  while [ "$SECONDS" -lt "$until" ]; do
    if ! said=$(OARLOCK_SOAK_SECONDS=$((until - SECONDS)) cargo test --workspace --lib "$1" 2>&1); then
      printf '%s\n' "$said"
      return 1
    fi
    if ! grep -q ' [1-9][0-9]* passed' <<<"$said"; then
      printf 'no test is called %s\n' "$1"
      return 1
    fi
  done
}

while [ "$SECONDS" -lt "$end" ]; do
  left=$((end - SECONDS))
  if [ "$left" -lt "$turn_seconds" ]; then turn_seconds=$left; fi
  turn "swaps under load" "make torture SEED=$seed SECONDS=$turn_seconds" \
    "$target/debug/torture" --seed "$seed" --seconds "$turn_seconds" --objects 300 --changes 40
  for plugin in network deployment-network; do
    turn "operation sequences, $plugin" "scripts/fuzz-shipped.sh $plugin --seed $seed --seconds 0" \
      scripts/fuzz-shipped.sh "$plugin" --seed "$seed" --seconds "$turn_seconds"
  done
  for name in workqueue::model informer::tests; do
    turn "unit tests $name" "cargo test --workspace --lib $name, with the seed or the input printed above" unit "$name"
  done
  seed=$((seed + 1))
done
printf '\n%s turns in %s s, the last seed was %s: everything held.\n' "$turns" "$SECONDS" "$((seed - 1))"
