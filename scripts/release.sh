#!/usr/bin/env bash
# Build the files of a release for this machine's architecture: the static program with its licences, its bill of materials, and both images.
#
#   scripts/release.sh
#
# Written to ${CARGO_TARGET_DIR:-target}/release-files, with V for the version in Cargo.toml and A for x86_64 or aarch64:
#   oarlock-V-A-linux.tar.gz       the program, the shipped plugins with their grants, and the licences
#   oarlock-V-A-linux.cdx.json     the bill of materials (CycloneDX)
#   oarlock-V-A-image.tar          the image of the host, as an OCI layout
#   oarlock-plugins-V-A-image.tar  the image of the plugins alone
#   oarlock-V-A-linux.profdata     with OARLOCK_PROFILE: the recorded load that the program is optimised for
# The same commit, compiler and recorded load give the same bytes (scripts/image.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=${CARGO_TARGET_DIR:-target}
out=$target/release-files
version=$(sed -n '/^\[workspace.package\]/,/^\[/ s/^version = "\(.*\)"/\1/p' Cargo.toml)
name=oarlock-$version-$(uname -m)-linux
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

rm -rf "$out"
mkdir -p "$out"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
scripts/image.sh
# The same files once more, without compiling again.
scripts/image.sh --root "$root/image"

# archive FOLDER: a tar in which nothing depends on time and user.
archive() { tar -C "$1" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - "${@:2}"; }

documents=$root/image/usr/share/doc/oarlock
mkdir -p "$root/$name/plugins"
cp "$root/image/usr/local/bin/oarlock" "$documents"/LICENSE* "$root/$name/"
for plugin in "$root"/image/plugins/*.wasm; do
  stem=$(basename "$plugin" .wasm)
  cp "$plugin" "plugins/$stem/$stem.yaml" "$root/$name/plugins/"
done
archive "$root" "$name" | gzip -n -9 >"$out/$name.tar.gz"
cp "$documents/sbom.cdx.json" "$out/$name.cdx.json"
if [ -n "${OARLOCK_PROFILE-}" ]; then cp "$OARLOCK_PROFILE" "$out/$name.profdata"; fi
for image in oarlock oarlock-plugins; do
  archive "$target/image/$image" . >"$out/$image-$version-$(uname -m)-image.tar"
done
ls -l "$out"
