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

# Unit tests that go on for OARLOCK_SOAK_SECONDS, with seeds of their own; they print the one that fails.
unit() { OARLOCK_SOAK_SECONDS=$turn_seconds cargo test --workspace --lib "$1"; }

while [ "$SECONDS" -lt "$end" ]; do
  left=$((end - SECONDS))
  if [ "$left" -lt "$turn_seconds" ]; then turn_seconds=$left; fi
  turn "swaps under load" "make torture SEED=$seed SECONDS=$turn_seconds" \
    "$target/debug/torture" --seed "$seed" --seconds "$turn_seconds" --objects 1000 --changes 40
  for plugin in network deployment-network; do
    turn "operation sequences, $plugin" "scripts/fuzz-shipped.sh $plugin --seed $seed --seconds 0" \
      scripts/fuzz-shipped.sh "$plugin" --seed "$seed" --seconds "$turn_seconds"
  done
  for name in workqueue::model informer::tests::random; do
    turn "unit tests $name" "OARLOCK_SEED=(as printed above) cargo test --workspace --lib $name" unit "$name"
  done
  seed=$((seed + 1))
done
printf '\n%s turns in %s s, the last seed was %s: everything held.\n' "$turns" "$SECONDS" "$((seed - 1))"
