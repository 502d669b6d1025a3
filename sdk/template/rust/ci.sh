#!/bin/sh
# What must pass before a change lands: builds into build/, tests, and runs the conformance suite. Any CI service can call it.
# Tenon is looked for where TENON_PREFIX says, otherwise where `tenon` on the PATH lies.
# Arguments go to the suite: ./ci.sh --jobs 4, or ./ci.sh --sample 8 for a quick look; `tenon check --help` has them all.
set -eu
cd "$(dirname "$0")"
if [ -z "${TENON_PREFIX:-}" ]; then
  tenon=$(command -v tenon) || { echo "ci.sh: no tenon on the PATH; set TENON_PREFIX to where it is installed" >&2; exit 1; }
  TENON_PREFIX=$(dirname "$(dirname "$tenon")")
fi
export TENON_PREFIX
make check CHECK_ARGS="$*"
