#!/usr/bin/env bash
# Measures on this machine's NVIDIA GPU what annotations and recording cost the examples' kernels.
#
#   run.sh OUT_DIR [EXAMPLE..]
#
# Prints what it finds, and writes it to OUT_DIR/EXAMPLE.txt. If Python has PyTorch, cuBLAS then computes
# the product of hopper_gemm (OUT_DIR/cublas.txt). LIMIT is the time that one may take (default 120s).
# The exit status is 1 if one failed.
set -u

if [ $# -lt 1 ]; then
    echo "usage: $0 OUT_DIR [EXAMPLE..]" >&2
    exit 2
fi
bundle=$(cd "$(dirname "$0")" && pwd) || exit 2
mkdir -p "$1" || exit 2
out=$(cd "$1" && pwd) || exit 2
shift
if [ $# -eq 0 ]; then
    set -- softmax gemm pipeline persistent hopper_gemm
fi
failed=0
# run NAME COMMAND..
run() {
    local name=$1
    shift
    timeout --kill-after=5s "${LIMIT:-120s}" "$@" >"$out/$name.txt" 2>&1 </dev/null
    local status=$?
    cat "$out/$name.txt"
    if [ $status -ne 0 ]; then
        echo "$name failed with status $status"
        failed=1
    fi
}
cat "$bundle/VERSION" | tee "$out/VERSION"
for name in "$@"; do
    run "$name" "$bundle/example-costs" "$name"
done
case " $* " in
*" hopper_gemm "*)
    if python3 -c 'import torch' 2>/dev/null; then
        run cublas python3 "$bundle/cublas.py"
    fi
    ;;
esac
exit $failed
