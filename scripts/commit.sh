# shellcheck shell=bash
# Sets OARLOCK_COMMIT for `oarlock version`, to be sourced by the scripts that build releases and images. Development builds have no commit:
# each commit would compile the host again.
#
# A value that is set stays: a container that builds from a copy without .git gets it from outside. Changes that are not committed add -dirty.
if [ -z "${OARLOCK_COMMIT-}" ]; then
  OARLOCK_COMMIT=$(git describe --always --dirty --abbrev=40 --exclude='*' 2>/dev/null || true)
fi
if [ -n "$OARLOCK_COMMIT" ]; then export OARLOCK_COMMIT; else unset OARLOCK_COMMIT; fi
