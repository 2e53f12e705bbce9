#!/bin/sh
# The compiler of `make fuzz`, between cargo and rustc: the crates that read what comes from outside are compiled with the counters that
# libFuzzer looks at, and optimised; the program is linked with libFuzzer. Everything else is compiled as always.
crate='' of=''
for argument; do
  case $of in --crate-name) crate=$argument ;; esac
  of=$argument
done
case $crate in
  oarlock | oarlock_manifest | oarlock_merge | oarlock_schema | oarlock_types | oarlock_fuzz)
    set -- "$@" -Copt-level=1 -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
      -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
      -Cllvm-args=-sanitizer-coverage-trace-compares ;;
esac
case " $* " in
  *' --crate-name oarlock_fuzz '*' --crate-type bin '*) set -- "$@" -Lnative="$FUZZ_ENGINE" -lstatic=fuzzer -lstdc++ ;;
esac
exec "$@"
