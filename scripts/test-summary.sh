#!/usr/bin/env bash
# Prints the ten slowest tests of an output of scripts/time-tests.sh, and why each failed test failed.
#
#   scripts/test-summary.sh FILE
set -euo pipefail
file=${1:?usage: test-summary.sh FILE}
echo 'the ten slowest tests:'
sed -nE 's/^test (.*) \.\.\. (ok|FAILED) <([0-9.]+)s>$/\3 \1/p' "$file" | sort -rn | sed -n 1,10p |
  while read -r seconds name; do printf '%8.1f s  %s\n' "$seconds" "$name"; done
# The error and what caused it, without the logs and the stack that follow.
awk '
  /^---- .* stdout ----$/ { name = $2; left = 0; next }
  name != "" && (/^Error: / || / panicked at /) { print "failed: " name; left = 6; name = "" }
  /^(failures:|Stack backtrace:|stack backtrace:)$/ { left = 0 }
  left > 0 && NF { print "  " substr($0, 1, 300); left-- }
' "$file"
