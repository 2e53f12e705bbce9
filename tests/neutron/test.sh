#!/usr/bin/env bash
# The end-to-end story against a real Neutron, first without authentication, then with Keystone.
#
# Needs what start.sh needs (Python 3.11 with venv, the network for its first installation). Where Neutron cannot be
# installed the test is skipped, and says so; with NEUTRON_REQUIRED=1 that is a failure.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
skip() {
  echo "SKIPPED: $* (the story ran against the emulator only)"
  if [ "${NEUTRON_REQUIRED-0}" = 1 ]; then exit 1; fi
  exit 0
}
trap '"$here/stop.sh"' EXIT

for auth in noauth keystone; do
  echo "== Neutron with $auth"
  export NEUTRON_AUTH=$auth
  url=$("$here/start.sh" --fresh) || skip "a real Neutron could not be started with $auth"
  clouds=
  if [ "$auth" = keystone ]; then
    clouds=${NEUTRON_LAB_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/oarlock/neutron}/etc/clouds.yaml
  fi
  NEUTRON_URL=$url NEUTRON_CLOUDS=$clouds cargo test --workspace --test e2e the_story -- --nocapture
done
