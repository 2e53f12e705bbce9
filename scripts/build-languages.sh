#!/usr/bin/env bash
# Build the sample reconciler and the tests' guests in every language but Rust, which build-plugins.sh builds.
#
#   scripts/build-languages.sh OUT_DIR [LANGUAGE…]
#   scripts/build-languages.sh --check [LANGUAGE…]: whether what they take is on this machine
#
# Every project in plugins/namespace-baseline/* and in tests/guests/{unruly,imports,converter,indexed,seeded}/* is built by its own Makefile, as its
# author would, and its component copied to OUT_DIR: namespace-baseline-LANGUAGE.wasm, unruly-LANGUAGE.wasm and so on. What the languages
# need is kept in ${CARGO_TARGET_DIR:-target}/languages.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
started_in=$PWD
cd "$here/.."

say() { printf '%s\n' "build-languages: $*" >&2; }
die() { say "$*"; exit 1; }

check=no out=
case ${1-} in
  --check) check=yes ;;
  "" | -*) die "usage: build-languages.sh OUT_DIR [LANGUAGE…]" ;;
  /*) out=$1 ;;
  *) out=$started_in/$1 ;;
esac
shift
wanted=("$@")
if [ ${#wanted[@]} -eq 0 ]; then wanted=(js ts python c go); fi

missing=no
# need LANGUAGES WHAT HOW COMMAND…: what languages cannot do without
need() {
  local languages=$1 what=$2 how=$3 language
  shift 3
  for language in $languages; do
    [[ " ${wanted[*]} " == *" $language "* ]] || continue
    if "$@" >/dev/null 2>&1; then return; fi
    say "${languages// /, }: $what is missing; get it with: $how"
    missing=yes
    return
  done
}
need "js ts" "node 20 or newer" "https://nodejs.org, or apt-get install nodejs where it is new enough" \
  node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)'
need "js ts" "npm" "https://nodejs.org, or apt-get install npm" npm --version
need "python c go" "Python 3.11 or newer with venv" "apt-get install python3 python3-venv" \
  python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))'
[ $missing = no ] || exit 1
if [ $check = yes ]; then exit; fi

target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$PWD/$target ;; esac
tools=$target/languages
oarlock=${OARLOCK_BIN:-$target/debug/oarlock}
[ -x "$oarlock" ] || die "no $oarlock: make build makes it"
mkdir -p "$out" "$tools/cache" "$target/debug/code-cache/oarlock"
# What is compiled here, the tests need not compile again.
ln -sfn "$target/debug/code-cache/oarlock" "$tools/cache/oarlock"
export XDG_CACHE_HOME=$tools/cache

# place FROM TO: by rename, so that nobody reads half a file, and only when it is another one
place() {
  if cmp -s "$1" "$2"; then return; fi
  cp "$1" "$2.new" && mv "$2.new" "$2"
}

# build LANGUAGE: its projects
build() {
  local language=$1 project name made
  for project in {plugins/namespace-baseline,tests/guests/{unruly,imports,converter,indexed,seeded}}/"$language"; do
    name=$(basename "$(dirname "$project")")
    if [ ! -d "$project" ]; then continue; fi
    make -s -C "$project" build OARLOCK="$oarlock" VENV="$tools/$language" || return 1
    # Some SDKs leave the component without its attachments beside it.
    made=$(find "$project/build" -maxdepth 1 -name '*.wasm' ! -name compiled.wasm)
    place "$made" "$out/$name-$language.wasm" || return 1
    printf '%s\n' "$out/$name-$language.wasm ($(($(wc -c <"$out/$name-$language.wasm") / 1024)) KB)"
  done
}

# Python takes as long as all others together, on one core.
python=
if [[ " ${wanted[*]} " == *" python "* ]]; then build python & python=$!; fi
for language in "${wanted[@]}"; do
  [ $language != python ] || continue
  # The only one that may be missing: where there is no Go, and none can be fetched.
  if [ $language = go ] && ! why=$(make -s -C plugins/namespace-baseline/go go VENV="$tools/go" 2>&1); then
    rm -f "$out"/{namespace-baseline,unruly,converter,indexed,seeded}-go.wasm
    say "go is left out, and so are its tests: $(grep -v '^make' <<<"$why" | tail -n 1)"
    continue
  fi
  build "$language" || die "$language could not be built (see above)"
done
[ -z "$python" ] || wait "$python" || die "python could not be built (see above)"
