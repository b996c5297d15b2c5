#!/usr/bin/env bash
# Runs every truth test on this machine's NVIDIA GPU, and draws what they found.
#
#   run.sh OUT_DIR [TEST..]
#
# Findings go to OUT_DIR/truth.jsonl, what each test prints to OUT_DIR/TEST.txt, drawings to OUT_DIR.
# After the test cross-check the same kernels run under Proton, and OUT_DIR/cross-check.md has both
# side by side; where python3 has no torch and triton, that is left out with a word.
# LIMIT is the time that one test may take (default 120s). The exit status is 1 if a limit of a test
# did not hold, or a test did not come to its end.
set -u

if [ $# -lt 1 ]; then
    echo "usage: $0 OUT_DIR [TEST..]" >&2
    exit 2
fi
bundle=$(cd "$(dirname "$0")" && pwd) || exit 2
mkdir -p "$1" || exit 2
out=$(cd "$1" && pwd) || exit 2
shift
if [ $# -eq 0 ]; then
    set -- known-work crowded-work mapping latency cross-check frequency boost density idle long
fi
limit=${LIMIT:-120s}
passed=0
failed=0
summary=$out/summary.txt
rm -f "$out/truth.jsonl"
cp "$bundle/VERSION" "$summary"
if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm --format=csv,noheader \
        >>"$summary"
fi
cat "$summary"
for name in "$@"; do
    begin=$SECONDS
    timeout --kill-after=5s "$limit" "$bundle/truth" run --backend gpu --size full --out "$out" \
        "$name" >"$out/$name.txt" 2>&1 </dev/null
    status=$?
    case $status in
        0) word=passed passed=$((passed + 1)) ;;
        124 | 137) word="timed out after $limit" failed=$((failed + 1)) ;;
        *) word="failed with status $status" failed=$((failed + 1)) ;;
    esac
    cat "$out/$name.txt"
    printf '%-12s %4ss  %s\n' "$name" $((SECONDS - begin)) "$word" | tee -a "$summary"
    [ "$name" = cross-check ] || continue
    begin=$SECONDS
    if ! python3 -c 'import torch, triton' 2>/dev/null; then
        word="left out: python3 has no torch and triton"
    elif timeout --kill-after=5s "$limit" python3 "$bundle/proton.py" "$out" \
        >"$out/proton.txt" 2>&1 </dev/null; then
        word=passed passed=$((passed + 1))
    else
        word="failed, see proton.txt" failed=$((failed + 1))
    fi
    printf '%-12s %4ss  %s\n' proton $((SECONDS - begin)) "$word" | tee -a "$summary"
    if "$bundle/truth" table --out "$out"; then
        cat "$out/cross-check.md"
    else
        failed=$((failed + 1))
    fi
done
# Only of these is there a drawing.
case " $* " in
*" known-work "* | *" mapping "* | *" frequency "* | *" long "*)
    "$bundle/truth" plot --out "$out" || failed=$((failed + 1))
    ;;
esac
echo "$passed passed, $failed failed" | tee -a "$summary"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
