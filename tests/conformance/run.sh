#!/usr/bin/env bash
# Replays the recordings against the embedded API server and prints how much of each area it answers as a real one does.
# Arguments go to replay.py: run.sh --only 'patch/*' --max-diffs 20
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${OARLOCK_BIN:?set OARLOCK_BIN to the oarlock command}"
out=$(mktemp)
"$OARLOCK_BIN" apiserver --port 0 >"$out" 2>/dev/null &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -f "$out"' EXIT
for _ in $(seq 100); do
  if [ -s "$out" ]; then break; fi
  sleep 0.1
done
url=$(head -n 1 "$out")
[ -n "$url" ] || { echo "the API server did not start" >&2; exit 1; }
python3 "$here/replay.py" --server "$url" --lenient-messages --jobs 8 "$@" || true
