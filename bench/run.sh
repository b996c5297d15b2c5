#!/usr/bin/env bash
# Runs the measurement on this machine's NVIDIA GPU.
#
#   run.sh [--quick] OUT_DIR
#
# Writes record-cost.jsonl and launch.jsonl to OUT_DIR, and what the programs print. Proton's part is
# left out, with a word, where python3 has no triton and torch. The exit status is 1 if anything failed.
set -u

quick=()
if [ "${1-}" = --quick ]; then
    quick=(--quick)
    shift
fi
if [ $# -ne 1 ]; then
    echo "usage: $0 [--quick] OUT_DIR" >&2
    exit 2
fi
bundle=$(cd "$(dirname "$0")" && pwd) || exit 2
mkdir -p "$1" || exit 2
out=$(cd "$1" && pwd) || exit 2
failed=0

BENCH_DATE=$(date -u +%Y-%m-%dT%H:%M:%SZ)
BENCH_COMMIT=$(sed -n 's/^commit: //p' "$bundle/VERSION")
BENCH_DRIVER=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1)
export BENCH_DATE BENCH_COMMIT BENCH_DRIVER=${BENCH_DRIVER:-unknown}

timeout --kill-after=10s 300s "$bundle/record-cost" "${quick[@]}" --out "$out" 2>&1 | tee "$out/record-cost.txt"
[ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
if python3 -c 'import torch, triton' 2>/dev/null; then
    timeout --kill-after=10s 300s python3 "$bundle/proton.py" "${quick[@]}" "$out" 2>&1 | tee "$out/proton.txt"
    [ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
else
    echo "python3 has no torch and triton: Proton is left out" | tee "$out/proton.txt"
fi
exit "$failed"
