#!/usr/bin/env bash
# Build the book: the pages of docs/SUMMARY.md as a website with a search.
#
#   scripts/book.sh
#
# Writes target/book/html/index.html. mdbook of this version on the PATH is taken; else cargo installs it below target/tools. Without it the
# script prints one line and succeeds: the test `documents` checks links and the table of contents in any case. No Rust installation is
# downloaded.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=0.5.4
target=${CARGO_TARGET_DIR:-target}
tools=$target/tools

mdbook=
for candidate in "$(command -v mdbook || true)" "$tools/bin/mdbook"; do
  if [ -n "$candidate" ] && [ "$("$candidate" --version 2>/dev/null)" = "mdbook v$version" ]; then mdbook=$candidate; break; fi
done
if [ -z "$mdbook" ]; then
  mkdir -p "$tools"
  # Of its features only the search.
  if RUSTUP_AUTO_INSTALL=0 cargo install mdbook --version "$version" --locked --no-default-features --features search --root "$tools" \
    --target-dir "$tools/build" --quiet 2>"$target/mdbook.log"; then
    rm -rf "$tools/build" "$target/mdbook.log"
    mdbook=$tools/bin/mdbook
  else
    echo "SKIPPED: the book: mdbook $version cannot be installed ($target/mdbook.log)"
    exit
  fi
fi

python3 scripts/book.py "$target/book"
# A warning is a mistake: a page that cannot be read, an HTML tag that is not closed.
said=$("$mdbook" build "$target/book" 2>&1) || { printf '%s\n' "$said" >&2; exit 1; }
if grep -qE '\b(WARN|ERROR)\b' <<<"$said"; then printf '%s\n' "$said" >&2; exit 1; fi
python3 scripts/book.py --check "$target/book/html"
echo "book: $target/book/html/index.html"
