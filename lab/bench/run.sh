#!/usr/bin/env bash
# Runs the measurement on this machine's NVIDIA GPU.
#
#   run.sh [--quick] [--combinations] OUT_DIR
#
# Writes record-cost.jsonl and launch.jsonl to OUT_DIR, and what the programs print. Proton's part is
# left out, with a word, where python3 has no triton and torch. With --combinations it writes
# record-combinations.jsonl in place of all that; the bundle of `cargo lab gpu-combinations` can. The exit
# status is 1 if anything failed.
set -u

quick=()
combinations=()
while true; do
    case "${1-}" in
    --quick) quick=(--quick) ;;
    --combinations) combinations=(--combinations) ;;
    *) break ;;
    esac
    shift
done
if [ $# -ne 1 ]; then
    echo "usage: $0 [--quick] [--combinations] OUT_DIR" >&2
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

if [ ${#combinations[@]} -ne 0 ]; then
    timeout --kill-after=10s 900s "$bundle/record-cost" --combinations "${quick[@]}" --out "$out" 2>&1 |
        tee "$out/record-combinations.txt"
    [ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
    exit "$failed"
fi
timeout --kill-after=10s 300s "$bundle/record-cost" "${quick[@]}" --out "$out" 2>&1 | tee "$out/record-cost.txt"
[ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
if python3 -c 'import torch, triton' 2>/dev/null; then
    timeout --kill-after=10s 300s python3 "$bundle/proton.py" "${quick[@]}" "$out" 2>&1 | tee "$out/proton.txt"
    [ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
else
    echo "python3 has no torch and triton: Proton is left out" | tee "$out/proton.txt"
fi
exit "$failed"
