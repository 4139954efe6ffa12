#!/bin/sh
# Fuzzes one target for a bounded time, from its seeds; a finding fails the test.
set -eu
target=$1
seeds=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/found"
"$target" -max_total_time="${EASE_FUZZ_SECONDS:-20}" -max_len=65536 -timeout=120 \
    -rss_limit_mb=3000 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$work/" "$work/found" "$seeds" || {
    for f in "$work"/crash-* "$work"/leak-* "$work"/timeout-* "$work"/oom-*; do
        [ -e "$f" ] && echo "input: $(base64 -w0 "$f" | head -c 4000)"
    done
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
}
echo "1 passed, 0 failed, 0 skipped"
