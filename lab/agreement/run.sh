#!/usr/bin/env bash
# Runs random programs on this machine's NVIDIA GPU and on the emulator, and compares.
#
#   run.sh OUT_DIR [SECONDS [SEED]]
#
# Writes agreement.jsonl, a line a batch, and agreement.txt, what the program prints, to OUT_DIR. The
# exit status is 1 where a program disagrees, which is printed, or nothing could be run. Before that a
# wrong record is planted, which must be found: planted.txt has what is then printed.
set -u

if [ $# -lt 1 ] || [ $# -gt 3 ]; then
    echo "usage: $0 OUT_DIR [SECONDS [SEED]]" >&2
    exit 2
fi
bundle=$(cd "$(dirname "$0")" && pwd) || exit 2
mkdir -p "$1" || exit 2
out=$(cd "$1" && pwd) || exit 2
seconds=${2:-180}
cat "$bundle/VERSION" | tee "$out/agreement.txt"
if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | tee -a "$out/agreement.txt"
fi
"$bundle/agreement" --backend gpu --plant record --seed "${3:-1}" \
    --report "$out/planted.jsonl" >"$out/planted.txt" 2>&1
if [ $? -ne 1 ] || ! grep -q 'disagrees with the reference$' "$out/planted.txt"; then
    echo "a wrong record was planted and not found: see $out/planted.txt" | tee -a "$out/agreement.txt"
    exit 1
fi
echo "a wrong record was planted and found" | tee -a "$out/agreement.txt"
# The kernels are compiled first, and a program that disagrees is made smaller at the end.
timeout --kill-after=10s $((seconds + 240))s "$bundle/agreement" --backend gpu \
    --seconds "$seconds" --seed "${3:-1}" --report "$out/agreement.jsonl" 2>&1 |
    tee -a "$out/agreement.txt"
[ "${PIPESTATUS[0]}" -eq 0 ]
