#!/usr/bin/env bash
# Builds everything optimised and prints the figures of docs/performance.md and docs/measurements.md for this machine; `compare` and
# `languages` also write bench/results.
#
#   run.sh [BENCHMARK…]: compare, admission, languages, fleet, noisy, handover; and, only when they are named, apiserver, edit-loop, growth, latency, plan, recorder, rollout, tracing and guard
#
# OPTIONS are options of the benchmarks, such as --quick of growth. BASE is what guard compares with: a commit, or a folder of binaries.
# With KUBEBUILDER_ASSETS `compare` and `latency` measure on a real API server.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
target=${CARGO_TARGET_DIR:-target}
[ -z "${KUBEBUILDER_ASSETS-}" ] || tests/kubernetes/control-plane.sh check >/dev/null
cargo build --release --workspace --bins
scripts/build-plugins.sh "$target/plugins/tests"
scripts/build-plugins.sh --guests "$target/plugins/tests"
if [ $# -eq 0 ]; then set -- compare admission languages fleet noisy handover; fi
for benchmark; do
  if [ "$benchmark" = languages ] || [ "$benchmark" = edit-loop ]; then scripts/build-languages.sh --check; fi
  if [ "$benchmark" = latency ]; then scripts/build-languages.sh "$target/plugins/tests" js go python; fi
  # shellcheck disable=SC2086 # options are words
  python3 "$here/$benchmark.py" --bin "$target/release" --plugins "$target/plugins/tests" ${OPTIONS-}
done
