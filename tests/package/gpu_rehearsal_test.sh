#!/usr/bin/env bash
# The whole of scripts/gpu-run on a software device, on small problems: it is ended in the middle and goes on, every step ends, and its
# tables have what was asked.
#   gpu_rehearsal_test.sh SOURCE_DIR BINARY_DIR
. "$(dirname "$0")/scratch.sh"

mkdir bin
cp "$source_dir/scripts/gpu-run" .
cp -r "$source_dir/bench/experiments" .
ln -s "$binary_dir"/{rooftile,bench/rooftile-bench,tests/certify_test} bin/

# --- Ended after the first few steps.
./gpu-run --rehearsal >first 2>&1 &
for _ in {1..600}; do
  ! grep -qs '^calibration: done' first || break
  sleep 0.1
done
kill -TERM $!
code=0
wait $! || code=$?
[ $code = 3 ] || fail "exit code $code after SIGTERM" "$(cat first)"
mkdir unpacked
tar -C unpacked -xzf gpu-results/gpu-work.tar.gz
[ -s unpacked/gpu-work/rooftile.db ] || fail "the archive lacks the database"
grep -q '^calibration .* done' unpacked/gpu-work/summary.txt || fail "the archive's summary lacks the calibration"

# --- Goes on.
code=0
./gpu-run --rehearsal >second 2>&1 || code=$?
# Two seconds may be too few for a kernel on a busy machine, and without one there is nothing to dispatch. Another run continues.
for _ in {1..4}; do
  grep -q '^no kernel: ' gpu-work/tune-default.log || break
  rm -f gpu-work/{tune-default,dispatch}.state
  code=0
  ./gpu-run --rehearsal >>second 2>&1 || code=$?
done
[ $code = 0 ] || fail "exit code $code" "$(cat second)"
! grep -q '^calibration:' second || fail "what was done is repeated" "$(cat second)"
./gpu-run --rehearsal --list >list
[ "$(tail -n 1 list)" = "0 steps are left, of some 0 s" ] || fail "steps are left" "$(cat list)"
[ -z "$(sed '$d; / done in [0-9]* s$/d' list)" ] || fail "steps did not end well" "$(cat list)"
cat list
grep -q '^gpu-run, .*, a rehearsal$' gpu-results/summary.txt || fail "the summary does not say that this is a rehearsal" "$(cat gpu-results/summary.txt)"

# has LINES FILE: expects so many lines in a table besides the first.
has() {
  [ "$(sed 1d "gpu-work/$2" | wc -l)" = "$1" ] || fail "$2 has not $1 lines" "$(cat "gpu-work/$2")"
}
for file in experiments/*.csv; do
  has "$(sed '/^#/d; /^experiment,/d' "$file" | wc -l)" "experiments-${file##*/}"
  ! grep -v 'is illegal here: ' "gpu-work/experiments-${file##*/}" | grep -q '"[^"]\+"$' || fail "no answer" "$(cat "gpu-work/experiments-${file##*/}")"
done
tar -C gpu-work -xf gpu-work/kernels.tar ./kernels.csv
has $((2 * $(sed '/^#/d; /^experiment,/d' "$file" | head -n 2 | wc -l))) kernels.csv
has 2 dispatch.csv
grep -q '^64,float32,' gpu-work/errors.csv || fail "errors.csv lacks float32" "$(cat gpu-work/errors.csv)"
has 2 decode.csv
grep -q '^dispatches,.*,64,' gpu-work/floor.csv || fail "floor.csv lacks 64 dispatches" "$(cat gpu-work/floor.csv)"
# As above: the tuner says so.
tuned() {
  grep -q "^ *$2 " gpu-work/report.log || grep -q '^no kernel: ' "gpu-work/tune-$1.log" || fail "$2 is not in the report" "$(cat gpu-work/report.log)"
}
tuned default '64x48x80 nn'
tuned types '8x64x96 nt f16xq4b32_f16'
tuned llm '1x64x256 nt f32xq4_k'
for problems in default types float64; do
  grep -q ',default_kernel,' gpu-work/gemm-$problems.csv || fail "no kernel of $problems was timed" "$(cat gpu-work/gemm-$problems.*)"
done
"$binary_dir/rooftile" db import --db imported.db gpu-work/export.db >import.log 2>&1 || fail "the exported database cannot be imported" "$(cat import.log)"
