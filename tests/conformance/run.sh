#!/usr/bin/env bash
# Replays the recordings against the embedded API server, prints how much of each area it answers as a real one does, and fails
# when that is less than expected.json says.
#   run.sh                                     the table, compared with expected.json
#   run.sh --record-figures                    the figures of this run are the ones to hold
#   run.sh --only 'patch/*' --max-diffs 20     other arguments go to replay.py; nothing is compared
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${OARLOCK_BIN:?set OARLOCK_BIN to the oarlock command}"
out=$(mktemp) tokens=$(mktemp)
echo 'conformance,admin,admin,"system:masters"' >"$tokens"
# The recorded server had no controllers: with them, namespaces and owned objects would go at moments of their own.
"$OARLOCK_BIN" apiserver --port 0 --no-controllers --anonymous-auth --token-file "$tokens" >"$out" 2>/dev/null &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -f "$out" "$tokens"' EXIT
for _ in $(seq 100); do
  if [ -s "$out" ]; then break; fi
  sleep 0.1
done
url=$(head -n 1 "$out")
[ -n "$url" ] || { echo "the API server did not start" >&2; exit 1; }
case "${1-}" in
  "") python3 "$here/figures.py" --server "$url" --token conformance ;;
  --record-figures) python3 "$here/figures.py" --server "$url" --token conformance --record ;;
  *) python3 "$here/replay.py" --server "$url" --token conformance --jobs 8 "$@" ;;
esac
