#!/usr/bin/env bash
# Start a Kubernetes node, run the bodies of tests/node in it, and stop it: docs/operations.md with Pods that run.
#
#   tests/node/test.sh         ONLY=part,part: only bodies whose name contains one of them; IMAGE=FOLDER: layouts of `make image` in place of a debug binary
#
# Where programs or rights are missing it says so in one line, and is no failure, unless NODE_REQUIRED=1. OARLOCK_BIN, NEUTRON_EMULATOR_BIN
# and OARLOCK_PLUGINS name what runs. What failed bodies leave (Pods, events, logs) stays in target/node/failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
node=tests/node/node.sh
folder=${CARGO_TARGET_DIR:-target}/node
mkdir -p "$folder"
export STATE; STATE=$(cd "$folder" && pwd)
export KUBEBUILDER_ASSETS=${KUBEBUILDER_ASSETS:-${XDG_CACHE_HOME:-$HOME/.cache}/oarlock/kubernetes/bin}

$node prepare
if ! missing=$($node check); then
  echo "SKIPPED: no node (docs/operations.md ran on the embedded API server only): $missing"
  exit "${NODE_REQUIRED:-0}"
fi
# Built before: there is no way out of the node's network.
bodies=${NODE_BODIES:-$(cargo test --workspace --test node --no-run 2>&1 | sed -n 's/^ *Executable .*(\(.*\))$/\1/p')}
[ -n "$bodies" ] || { echo "node: cargo test --workspace --test node --no-run built nothing" >&2; exit 1; }
bodies=$(realpath "$bodies")
began=$SECONDS
# Of a run that was killed.
$node stop
rm -rf "$STATE"
mkdir -p "$STATE"/{images,tools,image}
trap '$node stop' EXIT
trap 'exit 130' INT TERM

# pack FILE NAME PROGRAM… : layouts are what `kind load` and `ctr import` take when they are archives.
layouts=${IMAGE-}
if [ -z "$layouts" ]; then
  layouts=$STATE/image
  strip -o "$STATE/oarlock" "$OARLOCK_BIN"
  scripts/image.py --binary "$STATE/oarlock" --plugins "$OARLOCK_PLUGINS" --out "$layouts" --level 1 >/dev/null
  rm "$STATE/oarlock"
else
  cp -r "$layouts"/oarlock "$layouts"/oarlock-plugins "$STATE/image/"
fi
for image in oarlock oarlock-plugins; do tar -C "$STATE/image/$image" -cf "$STATE/images/$image.tar" .; done
cc -static -Os -o "$STATE/standin" tests/node/standin.c
python3 tests/node/pack.py "$STATE/images/standin.tar" "$STATE/standin" localhost/standin:1 \
  registry.k8s.io/pause:3.10 docker.io/envoyproxy/envoy:v1.36.2 registry.k8s.io/e2e-test-images/agnhost:2.53
strip -o "$STATE/neutron" "$NEUTRON_EMULATOR_BIN"
python3 tests/node/pack.py "$STATE/images/neutron.tar" "$STATE/neutron" localhost/neutron:1
if registry=$(scripts/registry.sh 2>/dev/null); then
  python3 tests/node/pack.py "$STATE/images/registry.tar" "$registry" localhost/registry:1
fi

# kind's nodes have this run in them: `kind load image-archive FILE`.
cat >"$STATE/tools/ctr-of-the-node" <<'C'
#!/bin/sh
exec ENGINE/ctr -a /run/oarnode/containerd.sock --namespace=k8s.io "$@"
C
sed -i "s|ENGINE|${XDG_CACHE_HOME:-$HOME/.cache}/oarlock/node/containerd/usr/bin|" "$STATE/tools/ctr-of-the-node"
cat >"$STATE/tools/kind" <<'C'
#!/bin/sh
[ "$1 $2" = "load image-archive" ] || { echo "kind is not here: $*" >&2; exit 1; }
exec ctr-of-the-node images import --all-platforms --digests --snapshotter=overlayfs - <"$3"
C
chmod +x "$STATE"/tools/*

$node start
if [ -f "$STATE/images/registry.tar" ]; then
  mkdir -p "$STATE/registry"
  (
    cd "$STATE/registry"
    openssl req -x509 -newkey ed25519 -nodes -keyout ca.key -out ca.crt -days 30 -subj /CN=registry-ca -addext basicConstraints=critical,CA:true
    openssl req -newkey rsa:2048 -nodes -keyout tls.key -out tls.csr -subj /CN=registry
    printf 'subjectAltName=IP:10.96.0.42\nbasicConstraints=CA:false\n' >tls.ext
    openssl x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out tls.crt -days 30 -extfile tls.ext
  ) >"$STATE/log/registry-openssl.log" 2>&1
fi
echo "node: ready after $((SECONDS - began)) s"
PATH=$KUBEBUILDER_ASSETS:$PATH OARLOCK_NODE=$STATE $node run "$bodies"
echo "node: $((SECONDS - began)) s in all"
