#!/usr/bin/env bash
# Runs the quickstart, every example and every GPU test of the bundle on this machine's NVIDIA GPU.
#
#   run.sh [--sanitize] OUT_DIR
#
# Each runs in OUT_DIR/NAME, where it leaves its log, and an example its traces. With --sanitize each
# runs once more under compute-sanitizer's memcheck and racecheck: examples with --small, tests without
# those that assert times. The cases of tests/abuse run in processes of their own, several at once, with
# --sanitize under initcheck and synccheck too; OUT_DIR/abuse has a log of each, and abuse.jsonl, their
# summary.
# LIMIT is the time that one run may take (default 120s), ABUSE_LIMIT that of all abuse (default
# 540s). The exit status is 1 if any run failed.
set -u

sanitize=no
if [ "${1-}" = --sanitize ]; then
    sanitize=yes
    shift
fi
if [ $# -ne 1 ]; then
    echo "usage: $0 [--sanitize] OUT_DIR" >&2
    exit 2
fi
bundle=$(cd "$(dirname "$0")" && pwd) || exit 2
mkdir -p "$1" || exit 2
out=$(cd "$1" && pwd) || exit 2
limit=${LIMIT:-120s}
passed=0
failed=0
summary=$out/summary.txt

# run NAME COMMAND..: runs in OUT_DIR/NAME and notes the result.
run() {
    local name=$1 begin status word
    shift
    mkdir -p "$out/$name"
    begin=$SECONDS
    (cd "$out/$name" && exec timeout --kill-after=10s "$limit" "$@") >"$out/$name/log.txt" 2>&1 </dev/null
    status=$?
    case $status in
        0)
            # A test program that has no test for a GPU is the wrong one.
            if grep -q '^running 0 tests$' "$out/$name/log.txt"; then
                word="ran no test" failed=$((failed + 1))
            else
                word=passed passed=$((passed + 1))
            fi
            ;;
        124 | 137) word="timed out after $limit" failed=$((failed + 1)) ;;
        *) word="failed with status $status" failed=$((failed + 1)) ;;
    esac
    printf '%-24s %5ss  %s\n' "$name" $((SECONDS - begin)) "$word" | tee -a "$summary"
    if [ "$word" != passed ]; then
        tail -n 20 "$out/$name/log.txt" | sed 's/^/    /'
    fi
}

: >"$summary"
cat "$bundle/VERSION" | tee -a "$summary"
if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | tee -a "$summary"
fi
run quickstart "$bundle/quickstart" --backend gpu --out .
for program in "$bundle"/bin/*; do
    name=$(basename "$program")
    run "$name" "$program" --backend gpu --out .
    # A small product must be exact, a large one cannot be.
    run "$name.small" "$program" --backend gpu --out . --small
done
for program in "$bundle"/hosts/*; do
    run "$(basename "$program")" "$program" .
done
# A kernel that fails takes its process's context with it: each module of tests has its own process, and so
# has each in `failures`.
kernels=$bundle/tests/kernels
modules='s/^(failures::[a-z_]+|[a-z_]+)::.*: test$/\1/p'
for name in $("$kernels" --ignored --list | sed -En "$modules" | sort -u); do
    run "test.${name//::/.}" "$kernels" "$name::" --ignored --test-threads=1
done
if [ $sanitize = no ]; then
    limit=${ABUSE_LIMIT:-540s} run abuse "$bundle/tests/abuse" record "$out/abuse"
fi
if [ $sanitize = yes ]; then
    if command -v compute-sanitizer >/dev/null; then
        limit=${ABUSE_LIMIT:-540s} run abuse "$bundle/tests/abuse" record "$out/abuse" --sanitize
        for program in "$bundle"/bin/*; do
            for tool in memcheck racecheck; do
                run "$(basename "$program").$tool" compute-sanitizer --tool "$tool" \
                    --error-exitcode 9 "$program" --backend gpu --out . --small
            done
        done
        # Kernels of known length last too long under a tool, and `launches_wait_for_no_kernel` never ends:
        # of `cases` two launches that wait for each other are run, of `watched_modules` nothing.
        for tool in memcheck racecheck initcheck synccheck; do
            run "test.cases.$tool" compute-sanitizer --tool "$tool" --error-exitcode 9 \
                "$kernels" cases::gpu::two_launches --ignored --test-threads=1
        done
        for name in end_to_end intrinsics buffers stress watched; do
            for tool in memcheck racecheck; do
                run "test.$name.$tool" compute-sanitizer --tool "$tool" --error-exitcode 9 \
                    "$kernels" "$name::" --ignored --test-threads=1 \
                    --skip a_barrier_ends --skip stamps_by
            done
        done
    else
        echo "compute-sanitizer is not installed" | tee -a "$summary"
        failed=$((failed + 1))
    fi
fi
echo "$passed passed, $failed failed" | tee -a "$summary"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
