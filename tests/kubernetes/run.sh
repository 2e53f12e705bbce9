#!/usr/bin/env bash
# The end-to-end tests on real API servers: those of KUBECONFIG_E2E, or one for each thread, started from KUBEBUILDER_ASSETS.
# What tests/README.md lists under "Not on a real API server" is left out. See `make test-kubernetes`.
#
#   run.sh [FILTER…]      only tests whose names contain one of these
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
plane=tests/kubernetes/control-plane.sh
threads=${THREADS:-6}
work=$(mktemp -d "${TMPDIR:-/tmp}/oarlock-kubernetes-XXXXXX")

stop() {
  for folder in "$work"/plane-*; do [ ! -d "$folder" ] || $plane stop "$folder"; done
}
trap 'stop; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

if [ -z "${KUBECONFIG_E2E-}" ]; then
  # Some tests start control planes of their own.
  KUBEBUILDER_ASSETS=$($plane check); export KUBEBUILDER_ASSETS
  started=()
  for i in $(seq "$threads"); do
    $plane start "$work/plane-$i" >/dev/null & started+=($!)
  done
  failed=
  for pid in "${started[@]}"; do wait "$pid" || failed=1; done
  [ -z "$failed" ] || exit 1
  KUBECONFIG_E2E=$(printf '%s\n' "$work"/plane-*/admin.kubeconfig | paste -sd:)
  [ -x "$KUBEBUILDER_ASSETS/kube-controller-manager" ] ||
    { echo "without kube-controller-manager, tests that need it are left out too"; without_controllers=1; }
else
  threads=$(tr ':' '\n' <<<"$KUBECONFIG_E2E" | grep -c .)
fi
export KUBECONFIG_E2E

# Everything in a cluster but what its own programs write all the time.
objects() { # KUBECONFIG
  local kinds attempt
  for attempt in 1 2 3 4 5; do
    [ "$attempt" = 1 ] || sleep 2
    kinds=$(kubectl --kubeconfig "$1" api-resources --verbs=list,delete -o name | grep -vE '^(events|leases\.coordination)' | paste -sd,) || continue
    # A kind that is being removed makes the whole list fail.
    if kubectl --kubeconfig "$1" get "$kinds" -A -o name --ignore-not-found >"$work/objects" 2>"$work/errors"; then
      sort "$work/objects"
      return
    fi
  done
  cat "$work/errors" >&2
  return 1
}
n=0
for kubeconfig in ${KUBECONFIG_E2E//:/ }; do n=$((n + 1)); objects "$kubeconfig" >"$work/before-$n"; done

cargo test --workspace --test e2e --no-run --quiet
tests() { cargo --config "target.'cfg(all())'.runner=['$PWD/scripts/time-tests.sh']" test --workspace --test e2e -- "$@"; }
tests --list 2>/dev/null | sed -n 's/: test$//p' >"$work/all"
WITHOUT_CONTROLLERS=${without_controllers-} python3 tests/kubernetes/select.py tests/README.md "$work/all" "$work/selected" "$work/skipped" "$@"

began=$SECONDS status=0
mapfile -t selected <"$work/selected"
tests --exact --include-ignored --test-threads "$threads" "${selected[@]}" | tee "$work/log" || status=$?
n=0
for kubeconfig in ${KUBECONFIG_E2E//:/ }; do
  n=$((n + 1))
  # The namespace controller may still be at the last namespaces.
  for attempt in $(seq 90); do
    objects "$kubeconfig" >"$work/after-$n"
    left=$(comm -13 "$work/before-$n" "$work/after-$n")
    [ -n "$left" ] || break
    sleep 2
  done
  [ -z "$left" ] || { printf 'left behind in %s:\n%s\n' "$kubeconfig" "$left" >&2; status=1; }
done
scripts/test-summary.sh "$work/log"
sed 's|^|skipped |' "$work/skipped"
printf 'on a real API server: %s test bodies in %s s; skipped: %s\n' "${#selected[@]}" "$((SECONDS - began))" "$(wc -l <"$work/skipped")"
exit "$status"
