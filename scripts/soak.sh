#!/usr/bin/env bash
# Everything that is random, in turns, until the time is over or something fails.
#
#   scripts/soak.sh MINUTES
#
# Each round of turns has a seed, SEED for the first one (by the clock unless told), 100 more for each after it: the operation
# sequences count up from theirs. Of these, each turn has a minute in which nothing changes, and nothing may be written. The first
# failure ends it and says how to repeat that turn. `make soak` builds what this needs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
minutes=${1:?usage: soak.sh MINUTES}
case $minutes in *[!0-9]* | 0) echo "soak: MINUTES is a whole number of at least 1" >&2; exit 1 ;; esac
target=${CARGO_TARGET_DIR:-target}
# Every kind has its turn also when there is little time; the minute of quiet comes on top.
turn_seconds=$((minutes * 60 / 11))
if [ "$turn_seconds" -gt 60 ]; then turn_seconds=60; fi
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

# again SELECTION… NAME: tests, again and again, with seeds of their own; they print the one that fails. Some go on for
# OARLOCK_SOAK_SECONDS.
again() {
  local until=$((SECONDS + turn_seconds)) said
  while [ "$SECONDS" -lt "$until" ]; do
    if ! said=$(OARLOCK_SOAK_SECONDS=$((until - SECONDS)) cargo test --workspace "$@" 2>&1); then
      printf '%s\n' "$said"
      return 1
    fi
    if ! grep -q ' [1-9][0-9]* passed' <<<"$said"; then
      printf 'no such test: %s\n' "$*"
      return 1
    fi
  done
}

while [ "$SECONDS" -lt "$end" ]; do
  left=$((end - SECONDS))
  if [ "$left" -lt "$turn_seconds" ]; then turn_seconds=$left; fi
  torture=("$target/debug/torture" --seed "$seed" --seconds "$turn_seconds" --objects 300 --changes 40)
  turn "swaps under load" "OARLOCK_PLUGINS=${OARLOCK_PLUGINS-} ${torture[*]} (after \`make build test-plugins\`)" "${torture[@]}"
  for plugin in network deployment-network pod-network envoy-injector; do
    turn "operation sequences, $plugin" \
      "scripts/fuzz-shipped.sh $plugin --quiet-seconds 60 --replay $target/fuzz-$plugin.json (after \`make build test-plugins\`)" \
      scripts/fuzz-shipped.sh "$plugin" --seed "$seed" --seconds "$turn_seconds" --quiet-seconds 60
  done
  for tests in "--lib workqueue::model" "--lib informer::tests" "--test e2e caches::"; do
    # shellcheck disable=SC2086
    turn "tests $tests" "cargo test --workspace $tests, with the seed or the input printed above" again $tests
  done
  seed=$((seed + 100))
done
printf '\n%s turns in %s s, the last seed was %s: everything held.\n' "$turns" "$SECONDS" "$((seed - 100))"
