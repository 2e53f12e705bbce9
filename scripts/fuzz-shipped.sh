#!/usr/bin/env bash
# Operation sequences against a plugin that comes with the host.
#
#   scripts/fuzz-shipped.sh network|deployment-network|pod-network|envoy-injector [further options of fuzz-plugin]
#
# Of envoy-injector it tries the ConfigMaps of namespaces. Its workloads come to rest only where something rolls them out, and about Pods it
# does nothing but to tell of those that slipped in.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=${CARGO_TARGET_DIR:-target}
plugin=${1:?usage: fuzz-shipped.sh network|deployment-network|pod-network|envoy-injector [OPTION…]}
shift
common=(--plugin "${OARLOCK_PLUGINS:-$target/plugins/tests}/$plugin.wasm" --crd plugins/network/crd.yaml)
common+=(--grant "plugins/$plugin/$plugin.yaml" --save "$target/fuzz-$plugin.json")
case $plugin in
  network)
    # Neutron counts segmentation ids up.
    own=(--target neutronUrl=neutron --look /v2.0/networks --look /v2.0/subnets --look /v2.0/ports
      --ignore provider:segmentation_id)
    ;;
  deployment-network)
    own=(--base tests/fixtures/deployments.yaml --fixed /metadata/annotations/samplecrd.k8s.io~1cidr)
    ;;
  pod-network)
    # Which address is free depends on what was before.
    own=(--base tests/fixtures/pods.yaml --beside tests/fixtures/networks.yaml --target neutronUrl=neutron --look /v2.0/ports
      --ignore samplecrd.k8s.io/network-ip --ignore ip_address --ignore mac_address)
    ;;
  envoy-injector)
    own=(--base tests/fixtures/namespaces.yaml --beside tests/fixtures/envoy.yaml)
    ;;
  *) echo "fuzz-shipped: no such plugin: $plugin" >&2; exit 1 ;;
esac
exec "$target/debug/fuzz-plugin" "${common[@]}" "${own[@]}" "$@"
