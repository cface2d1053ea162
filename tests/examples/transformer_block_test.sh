#!/usr/bin/env bash
# Runs examples/transformer_block.cpp, compares what it writes with NumPy, and expects refusals of sizes that do not fit.
#   transformer_block_test.sh EXAMPLE PYTHON CHECK
set -euo pipefail
example=$1 python=$2 check=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OPENBLAS_NUM_THREADS=1  # A second thread of NumPy's BLAS waits for most of the time, by computing.
export ROOFTILE_DB=$folder/none.db ROOFTILE_CACHE=$folder/cache

expect_right() {
  "$example" --write "$folder" "$@"
  "$python" "$check" "$folder"
}
expect_right --tokens 9 --past 0 --width 512 --heads 4 --kv-heads 4 --hidden 256
expect_right --moe 4 --top-k 1 --tokens 1 --past 70
expect_right --moe 8 --top-k 3 --weights-of-all 1
expect_right --moe 16 --top-k 3  # an expert without tokens

# Element 3 of a file that is wrong is noticed: an expert that another token has chosen, and a result.
expect_noticed() {
  cp "$folder/$1" "$folder/right"
  "$python" - "$folder/$1" <<END
import sys
import numpy as np
x = np.fromfile(sys.argv[1], np.$2)
x[3] $3
x.tofile(sys.argv[1])
END
  if "$python" "$check" "$folder"; then
    echo "a wrong $1 passed"
    exit 1
  fi
  mv "$folder/right" "$folder/$1"
}
expect_noticed chosen int32 '= (set(range(16)) - set(x[3:6])).pop()'
expect_noticed chosen int32 '= x[4]'
expect_noticed y float32 '+= 1e-4'

expect_refused() {
  if "$example" "$@" 2>"$folder/error"; then
    echo "$* was not refused"
    exit 1
  fi
  grep -q . "$folder/error"
}
expect_refused --tokens 0
expect_refused --heads 3
expect_refused --kv-heads 3
expect_refused --hidden 300
expect_refused --moe 4 --top-k 5
expect_refused --moe 4 --top-k 0
expect_refused --moe -1
expect_refused --past
expect_refused --nothing 1
