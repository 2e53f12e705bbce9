#!/usr/bin/env bash
# Builds everything optimised and prints the figures of docs/measurements.md for this machine.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
target=${CARGO_TARGET_DIR:-target}
cargo build --release --bins -p oarlock -p neutron-emulator
scripts/build-plugins.sh "$target/plugins/tests"
scripts/build-plugins.sh --guests "$target/plugins/tests"
python3 "$here/measure.py" --bin "$target/release" --plugins "$target/plugins/tests" "$@"
