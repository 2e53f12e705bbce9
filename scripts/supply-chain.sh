#!/usr/bin/env bash
# What is built from elsewhere: licences, bans and sources of the crates by deny.toml, and advisories against a database that is at hand.
#
#   scripts/supply-chain.sh
#
# Prints one line for what it has to skip, and how to get it. It fetches no database: with ADVISORIES=fetch, cargo-deny does.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PATH:${CARGO_TARGET_DIR:-target}/tools/bin

if ! command -v cargo-deny >/dev/null; then
  echo 'SKIPPED: licences, bans, sources and advisories of crates: cargo install cargo-deny@0.20.2 --locked'
  exit 0
fi
cargo deny --locked check --hide-inclusion-graph --allow duplicate bans licenses sources
if [ "${ADVISORIES-}" = fetch ]; then
  cargo deny --locked check advisories
elif compgen -G "${CARGO_HOME:-$HOME/.cargo}/advisory-db*/*" >/dev/null; then
  cargo deny --frozen check advisories
else
  echo 'SKIPPED: advisories of crates, no database is at hand: ADVISORIES=fetch scripts/supply-chain.sh fetches it'
fi
