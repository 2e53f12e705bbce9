#!/usr/bin/env bash
# Draw the pictures of docs/page.md anew: docs/images/page-*.png, from a real host in a real browser. It takes two minutes.
#
# Needs `make build test-plugins` and the browser of scripts/tools.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$PWD/$target ;; esac
scripts/tools.sh chromium playwright
export OARLOCK_PICTURES=$PWD/docs/images OARLOCK_BIN=$target/debug/oarlock NEUTRON_EMULATOR_BIN=$target/debug/neutron-emulator OARLOCK_PLUGINS=$target/plugins/tests
cargo test --workspace --test e2e -- --ignored --exact ui::crowd::the_pictures_of_the_documents
for picture in docs/images/page-*.png; do
  bytes=$(stat -c %s "$picture")
  [ "$bytes" -lt 153600 ] || { echo "$picture has $bytes bytes, more than 150 KiB"; exit 1; }
done
