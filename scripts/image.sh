#!/usr/bin/env bash
# Build the host as a static program and the shipped plugins, and pack both as OCI image layouts (scripts/image.py).
#
#   scripts/image.sh [--root DIR]
#
# The layouts are ${CARGO_TARGET_DIR:-target}/image/oarlock and …/oarlock-plugins. With --root only the files of the host's image are written,
# below DIR: what a Dockerfile copies. The same commit gives the same bytes in any folder: paths are mapped, times are
# SOURCE_DATE_EPOCH, or that of the last commit. `oarlock version` in the image prints the commit (scripts/commit.sh). With OARLOCK_PROFILE=FILE
# the program is optimised for the load that the file recorded (scripts/profile.sh), and the same commit and file give the same bytes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target_dir=${CARGO_TARGET_DIR:-target}
case $target_dir in /*) ;; *) target_dir=$PWD/$target_dir ;; esac
command -v python3 >/dev/null || { echo 'image: python3 is needed to pack the image: apt-get install python3' >&2; exit 1; }
if [ -z "${SOURCE_DATE_EPOCH-}" ]; then
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 0)
fi
export SOURCE_DATE_EPOCH
source scripts/commit.sh

scripts/build-plugins.sh "$target_dir/image/plugins" deployment-network envoy-injector network pod-network traffic

profile=()
if [ -n "${OARLOCK_PROFILE-}" ]; then profile=(--use "$OARLOCK_PROFILE"); fi
program=$(scripts/program.sh "${profile[@]}")

what=(--out "$target_dir/image")
if [ "${1-}" = --root ]; then what=(--root "$2"); fi
exec scripts/image.py --binary "$program" --plugins "$target_dir/image/plugins" "${what[@]}"
