#!/usr/bin/env bash
# Operation sequences against a plugin that comes with the host.
#
#   scripts/fuzz-shipped.sh network|deployment-network [further options of fuzz-plugin]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=${CARGO_TARGET_DIR:-target}
plugin=${1:?usage: fuzz-shipped.sh network|deployment-network [OPTION…]}
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
  *) echo "fuzz-shipped: no such plugin: $plugin" >&2; exit 1 ;;
esac
exec "$target/debug/fuzz-plugin" "${common[@]}" "${own[@]}" "$@"
