#!/bin/sh
# Runs PROGRAM under the thread sanitizer with Archer (LIBARCHER), which tells it what
# OpenMP orders: PROGRAM must be silent, and its seeded race must be seen.
set -u
program=$1
export OMP_TOOL_LIBRARIES="$2"
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 exitcode=66"

"$program" || exit 1

report=$("$program" seeded-race 2>&1)
status=$?
if [ $status -ne 66 ]; then
    echo "the seeded race went unseen: exit $status"
    exit 1
fi
case $report in
*"data race"*racing_trail*) echo "passed   the_seeded_race_is_seen" ;;
*)
    echo "something else than the seeded race was seen:"
    echo "$report"
    exit 1
    ;;
esac
