#!/usr/bin/env bash
# Runs the examples without tuned data and checks what they print.
# examples_test.sh SGEMM_C SGEMM_CPP QUANTIZED MLP VULKAN_INTEROP
set -euo pipefail
c_program=$1 cpp_program=$2 quantized=$3 mlp=$4 vulkan_interop=$5
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME=$scratch ROOFTILE_DB=$scratch/none.db

# run EXIT_CODE PROGRAM ARG...: runs the program and stores stdout and stderr in $output.
run() {
  local expected=$1 code=0
  shift
  output=$("$@" 2>&1) || code=$?
  [ "$code" = "$expected" ] || { echo "$*: exit code $code instead of $expected: $output" >&2; exit 1; }
}

# shows REGEX: expects a whole line of the output to match.
shows() {
  grep -Eqx -- "$1" <<<"$output" || { echo "no line '$1' in:" "$output" >&2; exit 1; }
}

run 0 "$c_program"
shows 'tier: host1?'
shows 'not on a device: .+'
shows 'C\[95\]\[79\] = (-?[0-9.]+), in float64 \1'
shows right
run 0 "$c_program" 17 33 65
shows 'C\[16\]\[32\] = .*'
shows right
run 2 "$c_program" 17 0 65
shows 'usage: .*'
ROOFTILE_TIER=nowhere run 1 "$c_program"
shows 'rooftile_open: .*nowhere.*'

run 0 "$quantized"
shows 'y\[0\] = -?[0-9.]+, largest error 0\.[0-9]+ of its bound'
shows right

run 0 "$mlp"
shows 'y\[0\]\[0\] = -?[0-9.]+, largest error 0\.[0-9]+ of its bound'
shows right
ROOFTILE_DEVICE=nothing run 1 "$mlp"
shows '.*no Vulkan device that matches .nothing.*'

run 0 "$vulkan_interop"
shows 'device: .+, workspace: [0-9]+ bytes'
shows 'Y\[0\]\[0\] = -?[0-9.]+, largest error 0\.[0-9]+ of its bound'
shows right

run 0 "$cpp_program"
shows 'predicted: device inf ns, host .*'
shows ' +score +0\.0000'
shows 'auto +C\[0\]\[0\] = (-?[0-9.]+), largest difference from auto 0'
shows 'host +C\[0\]\[0\] = .*'
shows 'host64 +C\[0\]\[0\] = .*'
shows 'device +C.* 0'
ROOFTILE_TIER=nowhere run 1 "$cpp_program"
shows 'rooftile: .*nowhere.* \(status 1\)'
