#!/usr/bin/env bash
# Build the host as a static program and the shipped plugins, and pack both as OCI image layouts (scripts/image.py).
#
#   scripts/image.sh [--root DIR]
#
# The layouts are ${CARGO_TARGET_DIR:-target}/image/oarlock and …/oarlock-plugins. With --root only the files of the host's image are written,
# below DIR: what a Dockerfile copies. The same commit gives the same bytes in any folder: paths are mapped, times are
# SOURCE_DATE_EPOCH, or that of the last commit. `oarlock version` in the image prints the commit (scripts/commit.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target_dir=${CARGO_TARGET_DIR:-target}
case $target_dir in /*) ;; *) target_dir=$PWD/$target_dir ;; esac
triple=$(rustc -vV | sed -n 's/^host: //p')

case $triple in
  *-linux-*) ;;
  *) echo "image: the image is for Linux; this machine builds for $triple" >&2; exit 1 ;;
esac
command -v python3 >/dev/null || { echo 'image: python3 is needed to pack the image: apt-get install python3' >&2; exit 1; }
if [ -z "${SOURCE_DATE_EPOCH-}" ]; then
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 0)
fi
export SOURCE_DATE_EPOCH
source scripts/commit.sh

scripts/build-plugins.sh "$target_dir/image/plugins" deployment-network envoy-injector network pod-network traffic

# With --target, the flags are the program's alone: build scripts and macros stay as they are.
flags='-C target-feature=+crt-static'
c_flags=''
# Of several that fit, the last counts.
for map in "${CARGO_HOME:-$HOME/.cargo}=/cargo" "$PWD=/oarlock" "$(rustc --print sysroot)=/rust" "$target_dir=/target"; do
  flags+=" --remap-path-prefix=$map"
  c_flags+=" -ffile-prefix-map=$map"
done
RUSTFLAGS=$flags CFLAGS=$c_flags \
  cargo build --profile image --locked -p oarlock --bin oarlock --target "$triple" --target-dir "$target_dir/image"

what=(--out "$target_dir/image")
if [ "${1-}" = --root ]; then what=(--root "$2"); fi
exec scripts/image.py --binary "$target_dir/image/$triple/image/oarlock" --plugins "$target_dir/image/plugins" "${what[@]}"
