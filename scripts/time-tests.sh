#!/usr/bin/env bash
# Runs the test program that cargo built, with the time of each test in its output: the `runner` of `make test`. The flag is unstable in
# libtest, which accepts it with this variable; the harness removes the variable from the environment of every compiler it starts.
RUSTC_BOOTSTRAP=1 exec "$@" -Z unstable-options --report-time
