#!/usr/bin/env bash
# Make an OCI registry available to the tests, without installing anything, and print where it is.
#
#   scripts/registry.sh
#
# Fails, in one line, also without openssl, which makes the keys that the tests sign with. docker-registry (or registry) on the PATH is taken; else Debian's package is unpacked below ${CARGO_TARGET_DIR:-target}.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v openssl >/dev/null || { echo "registry: missing: openssl; get it with: apt-get install openssl" >&2; exit 1; }
folder=${CARGO_TARGET_DIR:-target}/registry
unpacked=$folder/usr/bin/docker-registry

found=${REGISTRY_BIN:-$(command -v docker-registry || command -v registry || true)}
if [ -n "$found" ]; then echo "$found"; exit; fi
if [ ! -x "$unpacked" ]; then
  missing() {
    echo "registry: missing: docker-registry; get it with: apt-get install docker-registry, or name another build of CNCF Distribution in REGISTRY_BIN" >&2
    exit 1
  }
  command -v apt-get >/dev/null && command -v dpkg >/dev/null || missing
  new=$folder.new.$$
  trap 'rm -rf "$new"' EXIT
  mkdir -p "$new"
  (cd "$new" && apt-get -qq download docker-registry >/dev/null 2>&1 && dpkg -x ./*.deb .) || missing
  rm -rf "$folder"
  mv "$new" "$folder"
fi
echo "$unpacked"
