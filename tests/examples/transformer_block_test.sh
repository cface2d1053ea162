#!/usr/bin/env bash
# Runs examples/transformer_block.cpp, compares what it writes with NumPy, and expects refusals of sizes that do not fit.
#   transformer_block_test.sh EXAMPLE PYTHON CHECK
set -euo pipefail
example=$1 python=$2 check=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export ROOFTILE_DB=$folder/none.db ROOFTILE_CACHE=$folder/cache

expect_right() {
  "$example" --write "$folder" "$@"
  "$python" "$check" "$folder"
}
expect_right
expect_right --tokens 1 --past 70
expect_right --tokens 9 --past 0 --width 512 --heads 4 --kv-heads 4 --hidden 256

# A result that is wrong in one element is noticed.
"$python" - "$folder/y" <<'END'
import sys
import numpy as np
y = np.fromfile(sys.argv[1], np.float32)
y[3] += 1e-4
y.tofile(sys.argv[1])
END
if "$python" "$check" "$folder"; then
  echo "a wrong result passed"
  exit 1
fi

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
expect_refused --past
expect_refused --nothing 1
