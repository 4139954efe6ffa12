#!/bin/sh
# tsan.sh LIBARCHER PROGRAM [seeded-race]: runs PROGRAM under ThreadSanitizer with
# Archer, which tells it what OpenMP orders: PROGRAM must be silent. With "seeded-race"
# it makes a race, which must be seen.
set -u
export OMP_TOOL_LIBRARIES="$1"
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 exitcode=66"
# clang instruments no access of more than 16 bytes: those of AVX would go unseen.
export EASE_TEST_KERNELS=plain
# The programs are linked with tests/plain_blas.c, which has no kernels to choose from.
unset OPENBLAS_CORETYPE
shift

[ $# -eq 1 ] && exec "$1"

report=$("$@" 2>&1)
status=$?
case $status,$report in
66,*"data race"*racing_trail*)
    echo "passed   the_seeded_race_is_seen"
    echo "1 passed, 0 failed, 0 skipped"
    ;;
*)
    echo "$report"
    echo "FAILED   the_seeded_race_is_seen: exit $status"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
    ;;
esac
