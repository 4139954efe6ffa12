#!/bin/sh
# kernels.sh CORE KERNELS TEST ...: runs a test program with OpenBLAS's kernels for one
# kind of processor and those of the library's own that belong to it; skips it where
# this processor cannot run them. OpenBLAS does not ask before it tries.
set -u
core=$1
kernels=$2
shift 2

case $core in
Nehalem) needed="sse4_2" ;;
Sandybridge) needed="avx" ;;
Haswell | Zen) needed="avx2 fma" ;;
SkylakeX) needed="avx512f avx512bw avx512cd avx512dq avx512vl" ;;
*) echo "kernels.sh: what does $core need?" >&2 && exit 1 ;;
esac
case $kernels in
avx2) needed="$needed avx2 fma f16c" ;;
avx512) needed="$needed avx2 fma f16c avx512f" ;;
esac

flags=" $(sed -n 's/^flags[^:]*: *//p' /proc/cpuinfo | head -n 1) "
for flag in $needed; do
    case $flags in
    *" $flag "*) ;;
    *)
        echo "skipped  $(basename "$1") with the kernels of $core: no $flag here"
        echo "0 passed, 0 failed, 1 skipped"
        exit 77
        ;;
    esac
done
# Tests start more threads than there are processors: those that wait must not spin.
export OMP_WAIT_POLICY=passive
OPENBLAS_CORETYPE=$core EASE_TEST_KERNELS=$kernels exec "$@"
