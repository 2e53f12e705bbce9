#!/usr/bin/env bash
# Prints the ten slowest tests of an output of scripts/time-tests.sh.
#
#   scripts/slowest.sh FILE
set -euo pipefail
echo 'the ten slowest tests:'
sed -nE 's/^test (.*) \.\.\. (ok|FAILED) <([0-9.]+)s>$/\3 \1/p' "${1:?usage: slowest.sh FILE}" | sort -rn | sed -n 1,10p |
  while read -r seconds name; do printf '%8.1f s  %s\n' "$seconds" "$name"; done
