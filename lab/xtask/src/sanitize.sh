#!/usr/bin/env bash
# Runs on this machine's NVIDIA GPU what talks to one, built with AddressSanitizer and with ThreadSanitizer.
#
#   run.sh OUT_DIR [address|thread]
#
# Every test that needs a GPU, every example, random programs beside the emulator, truth, and the bench: at
# small sizes where they have them, as what is looked for is not in the kernels. OUT_DIR/SANITIZER has a log
# of each. LIMIT is the time that one of them may take (default 150s), TRUTH_LIMIT that of truth (default
# 300s). The exit status is 1 if any failed, be it by what a sanitizer found.
set -u

if [ $# -lt 1 ]; then
    echo "usage: $0 OUT_DIR [address|thread]" >&2
    exit 2
fi
bundle=$(cd "$(dirname "$0")" && pwd) || exit 2
mkdir -p "$1" || exit 2
out=$(cd "$1" && pwd) || exit 2
shift
if [ $# -eq 0 ]; then
    set -- address thread
fi
failed=0
summary=$out/summary.txt
cp "$bundle/VERSION" "$summary"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader >>"$summary"

# The driver takes addresses that AddressSanitizer keeps for itself unless it is told not to, and frees
# little of what it asks for. It is not built with ThreadSanitizer, which sees its locks and threads all the
# same and must not look at its memory. (Were all calls from it suppressed, what it orders would be missed,
# and reported as races.)
export ASAN_OPTIONS=protect_shadow_gap=0:detect_leaks=0:allocator_may_return_null=1
export TSAN_OPTIONS=allocator_may_return_null=1:ignore_noninstrumented_modules=1

# run SANITIZER NAME ARGUMENT..: runs a program in OUT_DIR/SANITIZER and notes the result.
run() {
    local sanitizer=$1 name=$2 begin=$SECONDS status word
    local file=${*:2}
    local log=$out/$sanitizer/${file//[^A-Za-z0-9_.]/_}.txt
    shift 2
    (cd "$out/$sanitizer" && exec timeout --kill-after=10s "${LIMIT:-150s}" "$bundle/$sanitizer/$name" "$@") \
        >"$log" 2>&1 </dev/null
    status=$?
    case $status in
    0) word=passed ;;
    124 | 137) word="timed out" failed=$((failed + 1)) ;;
    *) word="failed with status $status" failed=$((failed + 1)) ;;
    esac
    printf '%-8s %5ss  %s: %s %s\n' "$sanitizer" $((SECONDS - begin)) "$word" "$name" "$*" | tee -a "$summary"
    if [ "$word" != passed ]; then
        tail -n 30 "$log" | sed 's/^/    /'
    fi
}

for sanitizer in "$@"; do
    mkdir -p "$out/$sanitizer"
    for program in "$bundle/$sanitizer"/*; do
        name=$(basename "$program")
        case $name in
        # Each case in a process of its own, several at once.
        test.abuse) LIMIT=${ABUSE_LIMIT:-300s} run "$sanitizer" "$name" record "$out/$sanitizer/abuse" ;;
        # A kernel that fails takes its process's context with it.
        test.kernels)
            for module in $("$program" --ignored --list | sed -n 's/^\([a-z_]*\)::.*: test$/\1/p' | sort -u); do
                run "$sanitizer" "$name" "$module::" --ignored --test-threads=1
            done
            ;;
        test.*) run "$sanitizer" "$name" --ignored --test-threads=1 ;;
        agreement) run "$sanitizer" agreement --backend gpu --seconds 20 ;;
        # Most tests have limits on times that hold for long regions alone.
        truth)
            truth() { LIMIT=${TRUTH_LIMIT:-300s} run "$sanitizer" truth run --backend gpu --out . --size "$@"; }
            truth small known-work crowded-work mapping
            truth full --idle 1 latency cross-check frequency boost density idle long
            ;;
        record-cost) LIMIT=300s run "$sanitizer" record-cost --quick --schemes default,grid-atomic ;;
        *) run "$sanitizer" "$name" --backend gpu --out . --small ;;
        esac
    done
done
exit $((failed > 0))
