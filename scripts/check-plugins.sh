#!/usr/bin/env bash
# Checks the shipped plugins, and those of fresh projects, with `oarlock check`: none of them may show a finding.
#
#   scripts/check-plugins.sh MINUTES [NAME…]
#
# NAME is a plugin (traffic, namespace-baseline-js, …), or new-LANGUAGE for the project that `oarlock new` makes; without one, all but those
# that are not built. Each gets so many minutes, one after the other, on all cores. SEED is the seed (0). `make check-plugins` builds what it
# needs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
minutes=${1:?usage: check-plugins.sh MINUTES [NAME…]}
shift
target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$PWD/$target ;; esac
oarlock=${OARLOCK_BIN:-$target/debug/oarlock}
plugins=${OARLOCK_PLUGINS:-$target/plugins/tests}
inputs=tests/fixtures/check/plugins
findings=$target/check-plugins
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# project LANGUAGE: the component and the grant of a fresh project, in $work/new-LANGUAGE
project() {
  local folder=$work/new-$1 tools=$target/languages
  "$oarlock" new check-me --lang "$1" --crd tests/fixtures/check/crd.yaml --dir "$folder" >/dev/null
  # shellcheck disable=SC1091
  if [ -f "$target/wasm.env" ]; then source "$target/wasm.env"; fi
  env -u MAKEFLAGS -u MAKELEVEL OARLOCK="$oarlock" CARGO_TARGET_DIR="$target/projects" VENV="$tools/$1" XDG_CACHE_HOME="$tools/cache" \
    npm_config_prefer_offline=true make -s -C "$folder" build >/dev/null
}

# The first part of ids of services.
ids=00000000-0000-4000-8000

# options NAME: what a plugin needs to be checked, a word a line
options() {
  case $1 in
    deployment-network) printf '%s\n' --crd plugins/network/crd.yaml --object "$inputs/deployments.yaml" ;;
    envoy-injector)
      printf '%s\n' --object "$inputs/namespaces.yaml" --object "$inputs/pods.yaml" --object "$inputs/workloads.yaml" \
        --cluster plugins/envoy-injector/envoy.yaml
      ;;
    network)
      printf '%s\n' --crd plugins/network/crd.yaml --object tests/fixtures/networks.yaml --services plugins/network/neutron.yaml
      ;;
    pod-network)
      # The Network blue is ready: its records are the first ones.
      sed -e 's|^      networks:$|&\n        records: [{name: blue}]|' \
        -e "s|^      subnets:\$|&\n        records: [{network_id: $ids-000000000001, ip_version: 4, cidr: 10.20.0.0/24}]|" \
        plugins/network/neutron.yaml >"$work/neutron.yaml"
      printf '%s\n' --cluster plugins/network/crd.yaml --cluster "$inputs/ready-network.yaml" --object "$inputs/networked-pods.yaml" \
        --services "$work/neutron.yaml"
      ;;
    traffic)
      printf '%s\n' --crd plugins/traffic/crd.yaml --object "$inputs/routes.yaml" --object "$inputs/namespaces.yaml" \
        --cluster "$inputs/reviews.yaml"
      ;;
    namespace-baseline-*) printf '%s\n' --object "$inputs/namespaces.yaml" ;;
    new-*) printf '%s\n' --crd tests/fixtures/check/crd.yaml --grant "$work/$1/grant.yaml" ;;
    *) echo "check-plugins: $1 is no plugin that is checked" >&2; return 2 ;;
  esac
}

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  names=(network pod-network traffic envoy-injector deployment-network)
  for language in rust js ts python c go; do
    if [ -f "$plugins/namespace-baseline-$language.wasm" ]; then names+=("namespace-baseline-$language"); fi
  done
  names+=(new-rust new-js)
fi

failed=()
for name in "${names[@]}"; do
  component=$plugins/$name.wasm
  case $name in
    new-*)
      project "${name#new-}"
      component=$work/$name/build/check-me.wasm
      ;;
  esac
  mapfile -t given < <(options "$name")
  if [ -f "$plugins/$name.yaml" ]; then given+=(--grant "$plugins/$name.yaml"); fi
  rm -rf "${findings:?}/$name"
  printf '== %s\n' "$name"
  "$oarlock" check "$component" "${given[@]}" --minutes "$minutes" --seed "${SEED:-0}" --output-dir "$findings/$name" || failed+=("$name")
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "check-plugins: findings in $findings, of: ${failed[*]}" >&2
  exit 1
fi
