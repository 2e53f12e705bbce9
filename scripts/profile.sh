#!/usr/bin/env bash
# Record what the program of the image does under load, for OARLOCK_PROFILE of `make image` and `make release`: about 20 minutes.
#
#   scripts/profile.sh
#
# Builds the program with counters, runs it (tests/bench/train.py), and writes ${CARGO_TARGET_DIR:-target}/profile/oarlock.profdata. Two runs
# give two files: a release has the one that it was built with.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$PWD/$target ;; esac

# The compiler's own, or one of Debian's; they read what the compiler writes if they are not much older.
merge=
for found in "$(rustc --print sysroot)"/lib/rustlib/*/bin/llvm-profdata $(printf '%s\n' /usr/lib/llvm-*/bin/llvm-profdata | sort -rV); do
  if [ -x "$found" ]; then merge=$found; break; fi
done
[ -n "$merge" ] || { echo 'profile: llvm-profdata is needed: rustup component add llvm-tools, or apt-get install llvm-19' >&2; exit 1; }

counters=$target/profile/counters
rm -rf "$counters"
mkdir -p "$counters"
program=$(scripts/program.sh --record "$counters")
rm -rf "$counters"
scripts/build-plugins.sh "$target/plugins/tests"
scripts/build-plugins.sh --guests "$target/plugins/tests"
LLVM_PROFILE_FILE=$counters/%m-%p.profraw \
  python3 tests/bench/train.py --bin "$target/debug" --plugins "$target/plugins/tests" --hosts "$(dirname "$program")"
"$merge" merge --sparse -o "$target/profile/oarlock.profdata" "$counters"/*.profraw
rm -rf "$counters"
ls -l "$target/profile/oarlock.profdata"
