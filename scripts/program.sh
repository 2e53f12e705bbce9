#!/usr/bin/env bash
# Build the program of the image, which is static, and print its path.
#
#   scripts/program.sh [--use FILE | --record DIR]
#
# --use     optimise for the load that FILE recorded (scripts/profile.sh); code that has changed since is optimised as without it
# --record  the program writes counters of its own code into DIR when it ends; it is twice as large, and slower
#
# Paths are mapped: the same source gives the same bytes in any folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target_dir=${CARGO_TARGET_DIR:-target}
case $target_dir in /*) ;; *) target_dir=$PWD/$target_dir ;; esac
triple=$(rustc -vV | sed -n 's/^host: //p')
case $triple in
  *-linux-*) ;;
  *) echo "image: the image is for Linux; this machine builds for $triple" >&2; exit 1 ;;
esac

# With --target, the flags are the program's alone: build scripts and macros stay as they are.
flags='-C target-feature=+crt-static'
c_flags=''
# Of several that fit, the last counts.
for map in "${CARGO_HOME:-$HOME/.cargo}=/cargo" "$PWD=/oarlock" "$(rustc --print sysroot)=/rust" "$target_dir=/target"; do
  flags+=" --remap-path-prefix=$map"
  c_flags+=" -ffile-prefix-map=$map"
done
folder=$target_dir/image
case ${1-} in
  '') ;;
  --use)
    [ -f "$2" ] || { echo "image: OARLOCK_PROFILE: there is no file $2: make profile writes target/profile/oarlock.profdata" >&2; exit 1; }
    # Cargo compares flags, not the file that they name.
    used=$folder/$(sha256sum "$2" | cut -c1-16).profdata
    mkdir -p "$folder"
    cp "$2" "$used"
    flags+=" -C profile-use=$used"
    ;;
  --record) folder=$target_dir/profile flags+=" -C profile-generate=$2" ;;
  *) echo "usage: scripts/program.sh [--use FILE | --record DIR]" >&2; exit 2 ;;
esac
RUSTFLAGS=$flags CFLAGS=$c_flags \
  cargo build --profile image --locked -p oarlock --bin oarlock --target "$triple" --target-dir "$folder" >&2
echo "$folder/$triple/image/oarlock"
