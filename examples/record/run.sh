#!/bin/sh
# Runs each program twice as it is and once under `profiler record`, and says whether it printed the same.
# Usage: run.sh OUT_DIR [PROGRAM..]; the programs need a GPU, Python with their packages, and nvcc.
set -u
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" || exit 2
out=$1
shift
profiler=${PROFILER:-$here/profiler}
caches=$(mktemp -d)
compiled=$caches/compiled
export TRITON_CACHE_DIR="$compiled/triton" TORCHINDUCTOR_CACHE_DIR="$compiled/inductor" CUPY_CACHE_DIR="$compiled/cupy"
export TF_CPP_MIN_LOG_LEVEL=3 XLA_PYTHON_CLIENT_PREALLOCATE=false
# What XLA chooses by measuring differs from run to run, and with it the last bits of results.
export XLA_FLAGS="${XLA_FLAGS:---xla_gpu_autotune_level=0}"

results() { # what a program printed, without how long it took
    sed 's/, [0-9.]* us a launch//' "$1"
}

one() { # NAME COMMAND..
    name=$1
    shift
    for run in first second; do
        # What is tuned by measuring may come out otherwise each time: every run tunes for itself.
        rm -rf "$caches/compiled"
        start=$(date +%s%N)
        timeout 300 "$@" >"$out/$name.$run.out" 2>"$out/$name.$run.err"
        echo "$name: $run: exit $?, $((($(date +%s%N) - start) / 1000000)) ms"
    done
    start=$(date +%s%N)
    # shellcheck disable=SC2086
    timeout 300 "$profiler" record ${OPTIONS:-} -o "$out/$name" -- "$@" >"$out/$name.record.out" 2>"$out/$name.record.err"
    echo "$name: record: exit $?, $((($(date +%s%N) - start) / 1000000)) ms"
    results "$out/$name.first.out" >"$caches/first"
    results "$out/$name.second.out" >"$caches/second"
    results "$out/$name.record.out" >"$caches/record"
    # What differs from run to run by itself says nothing.
    diff "$caches/first" "$caches/second" | sed -n 's/^> //p' | cut -d: -f1 >"$caches/unsteady"
    if diff "$caches/second" "$caches/record" >"$caches/diff"; then
        echo "$name: same results"
    else
        echo "$name: OTHER RESULTS (of them differ by themselves: $(tr '\n' ' ' <"$caches/unsteady"))"
        cat "$caches/diff"
    fi
    grep -v '^  ' "$out/$name.record.err" | tail -6
}

for program in ${*:-triton_kernels pipeline scan launches cupy_kernels jax_models graphs torch_encoder torch_decoder torch_convolutions}; do
    case $program in
    torch_*) one "$program" python3 "$here/torch_models.py" "${program#torch_}" ;;
    pipeline | scan | launches)
        nvcc -O3 -std=c++17 -arch=sm_90 -lineinfo "$here/$program.cu" -o "$caches/$program" && one "$program" "$caches/$program"
        ;;
    *)
        [ -f "$here/$program.py" ] || { echo "there is no program $program here" >&2; exit 2; }
        one "$program" python3 "$here/$program.py"
        ;;
    esac
done
rm -rf "$caches"
