#!/usr/bin/env bash
# scripts/gpu-run with programs that only write down how they were called: every step runs once, also over several runs; a failed
# step is told and repeated; the archive holds the results.
set -euo pipefail

source_dir=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "gpu_run_test: $*" >&2
  exit 1
}

mkdir "$scratch/bin"
cp "$source_dir/scripts/gpu-run" "$scratch/"
cp -r "$source_dir/bench/experiments" "$scratch/"
for program in rooftile bench_gemm bench_dispatch bench_kernels bench_weights certify_test; do
  cat >"$scratch/bin/$program" <<'PROGRAM'
#!/usr/bin/env bash
echo "${0##*/} $*" >>"${0%/*}/calls"
case "$* " in
  *"$(cat "${0%/*}/fails" 2>/dev/null || echo nothing) "*) echo "no such device"; exit 1 ;;
esac
echo "${ROOFTILE_DEVICE:-any} $ROOFTILE_DB"
PROGRAM
  chmod +x "$scratch/bin/$program"
done

# run EXPECTED_CODE ARG...: output in $scratch/output.
run() {
  local expected=$1 code=0
  shift
  (cd "$scratch" && ./gpu-run "$@") >"$scratch/output" 2>&1 || code=$?
  [ $code = "$expected" ] || fail "gpu-run $*: exit code $code instead of $expected: $(cat "$scratch/output")"
}
# The calls that are no look for a vendor's library.
calls() {
  grep -v -- '--seconds 0.1' "$scratch/bin/calls"
}

run 2 --seconds many
run 2 --unknown
run 2 --out
[ ! -e "$scratch/bin/calls" ] || fail "wrong arguments started a program"

run 3 --seconds 70 --device H200
grep -q 'tune-f32' "$scratch/output" && fail "a step of 240 s began with 70 s left"
[ -e "$scratch/gpu-results/calibration.done" ] || fail "a step that fits was left out"
grep -q "H200 $scratch/gpu-results/rooftile.db" "$scratch/gpu-results/calibration.log" || fail "the device or the database is not passed on"

echo "--problems 40" >"$scratch/bin/fails"
run 1 --seconds 100000
grep -q 'dispatch: exit code 1' "$scratch/output" || fail "the failed step is not told"
grep -q 'no such device' "$scratch/output" || fail "its reason is not told"
[ -e "$scratch/gpu-results/export.done" ] || fail "the steps after a failed one were left out"

rm "$scratch/bin/fails"
run 0 --seconds 100000
tar -tzf "$scratch/gpu-results.tar.gz" >"$scratch/listed"  # No pipe: tar fails where grep -q ends before it.
grep -q '^gpu-results/report-text.log$' "$scratch/listed" || fail "the archive lacks a log"
for file in "$source_dir"/bench/experiments/*.csv; do
  grep -q "experiments/${file##*/} --csv" < <(calls) || fail "the experiments of ${file##*/} are not in the run"
done
again=$(calls | sort | uniq -d)
[ "$again" = "$(calls | grep -- '--problems 40' | sort -u)" ] || fail "repeated although they ended: $again"
grep -q -- '--baseline cublas --baseline clblast --csv' < <(calls) || fail "the vendors' libraries are not in the run"
