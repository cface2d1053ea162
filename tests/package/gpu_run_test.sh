#!/usr/bin/env bash
# scripts/gpu-run with programs that only write down how they were called, and do on top of that what a case asks of them: what is done
# is not repeated, and whatever ends the run, the archive is there and says what is missing.
#   gpu_run_test.sh SOURCE_DIR
set -euo pipefail

source_dir=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
fail() {
  echo "gpu_run_test: $*" >&2
  exit 1
}

mkdir bin
cp "$source_dir/scripts/gpu-run" .
mkdir experiments
for file in 1-first 2-second 3-third; do
  printf '%s\n' "experiment,m,n,k,trans_a,trans_b,batch,type,baseline,variant,expected,seconds,hypothesis" \
    "$file,8,8,8,0,0,1,f32,family=naive,tile_m=8,0.8,1,Why." >experiments/$file.csv
done
for program in rooftile rooftile-bench certify_test; do
  cat >bin/$program <<'PROGRAM'
#!/usr/bin/env bash
bin=${0%/*}
echo "${0##*/} $*" >>"$bin/calls"
echo '"name": "a GPU",'
echo "${ROOFTILE_DEVICE:-any}, $ROOFTILE_DB"
if [ -e "$bin/act" ]; then . "$bin/act"; fi
PROGRAM
  chmod +x bin/$program
done
# act COMMANDS: what programs do from now on; $* is what they are called with.
act() {
  echo "$1" >bin/act
}

# run EXPECTED_CODE ARG...: output in ./output.
run() {
  local expected=$1 code=0
  shift
  rm -f bin/calls
  ./gpu-run "$@" >output 2>&1 || code=$?
  [ $code = "$expected" ] || fail "gpu-run $*: exit code $code instead of $expected: $(cat output)"
}
# says FILE TEXT: expects that a line of the file matches.
says() {
  grep -q -- "$2" "$1" || fail "$1 does not say '$2': $(cat "$1")"
}
# alive PROCESS: whether it runs; one that nobody waits for does not.
alive() {
  case $(ps -o stat= -p "$1") in '' | Z*) return 1 ;; esac
}
# unpacked: the archive's folder, in ./unpacked.
unpacked() {
  rm -rf unpacked
  mkdir unpacked
  cat gpu-results/gpu-work.tar.gz* | tar -C unpacked -xzf - || fail "the archive is no archive"
  cmp gpu-results/summary.txt unpacked/gpu-work/summary.txt || fail "the archive has another summary"
}
# called EXPECTED: expects these words in the calls, one for each line.
called() {
  [ "$(cat bin/calls 2>/dev/null)" = "$1" ] || fail "called: $(cat bin/calls), expected: $1"
}
closing=$'rooftile db export --force '$scratch$'/gpu-work/export.db\nrooftile report --calibration'

# --- Nothing starts.
for wrong in "--seconds many" "--seconds 0" "--unknown" "--out" "--work gpu-results"; do
  # shellcheck disable=SC2086
  run 2 $wrong
done
run 0 --list
says output '^certificates  *60 s  left$'
says output '^2[0-9] steps are left, of some [5-7][0-9][0-9] s$'
[ ! -e bin/calls ] && [ ! -e gpu-work ] && [ ! -e gpu-results ] || fail "a program ran or a folder was made: $(ls)"

# --- Time for some steps.
run 3 --seconds 70 --device H200
says output '^certificates  *60 s  left$'
says output '^gemm-types  *45 s  left$'  # It fits, but waits for the step whose kernels it times.
says gpu-results/summary.txt '^gpu-run, .* UTC: a GPU, commit unknown$'
says gpu-results/summary.txt '^devices  *3 s  done'
says gpu-work/devices.log "H200, $scratch/gpu-work/rooftile.db"
unpacked

# --- A failed step is told, keeps none from running, and is repeated once.
act 'case "$*" in *"--problems 24"*) echo "no such device"; exit 1 ;; esac'
run 1 --seconds 100000
says output 'dispatch: failed'
says output 'no such device'
says gpu-results/summary.txt '^dispatch .* failed after .* no such device'
[ -e gpu-work/export.state ] || fail "the steps after a failed one were left out"
says bin/calls '--baseline cublas,clblast,ggml --csv'
for file in experiments/*.csv; do
  says bin/calls "^rooftile-bench kernels $scratch/$file --csv"
done
run 1 --seconds 100000
called "rooftile-bench dispatch --rounds 5 --problems 24 --csv $scratch/gpu-work/dispatch.csv"$'\n'"$closing"
says output 'dispatch .* failed twice'
rm bin/act
run 1 --seconds 100000
called ""
rm gpu-work/dispatch.state
run 0 --seconds 100000
unpacked
[ -e unpacked/gpu-work/report.log ] || fail "the archive lacks a log"

# --- What is new.
cp experiments/2-second.csv experiments/4-new.csv
sed -i 's/0.8,/0.7,/' experiments/3-third.csv
run 0 --list
says output '^3 steps are left'
run 0 --seconds 100000
called "rooftile-bench kernels $scratch/experiments/3-third.csv --csv $scratch/gpu-work/experiments-3-third.csv
rooftile-bench kernels $scratch/experiments/4-new.csv --csv $scratch/gpu-work/experiments-4-new.csv
rooftile-bench kernels $(echo "$scratch"/experiments/*.csv) --keep $scratch/gpu-work/.kernels"$'\n'"$closing"

# --- What the driver makes of kernels, on a machine with NVIDIA's tools and two GPUs. nvdisasm refuses what it does not know.
mkdir tools
cat >tools/nvdisasm <<'TOOL'
#!/usr/bin/env bash
[ "$1 $2 $(cat "$3")" = "-b SM90 some code" ] && echo "a listing"
TOOL
cat >tools/nvidia-smi <<'TOOL'
#!/usr/bin/env bash
[[ $* != *compute_cap,name,uuid* ]] || printf '%s\n' "8.9, NVIDIA L4, GPU-1" "9.0, NVIDIA H200, GPU-2"
TOOL
chmod +x tools/*
act 'case "$*" in
  *--keep*) mkdir "${!#}" && cd "${!#}" && echo "a table" >kernels.csv && echo "some code" >known.bin && echo other >other.bin && echo x >known.cache ;;
  *--sass*) cp "$3" "${!#}" ;;
esac'
rm gpu-work/kernels.state
PATH=$scratch/tools:$PATH run 0 --seconds 100000 --device h200
rm -r tools bin/act
unpacked
mkdir kept
tar -C kept -xf unpacked/gpu-work/kernels.tar || fail "the archive lacks the kernels"
says kept/kernels.csv 'a table'
says kept/known.sass 'a listing'
says kept/known.json 'a listing'
[ -e kept/known.cache ] && [ -e kept/other.bin ] && [ ! -e kept/other.json ] && [ ! -e kept/known.bin ] || fail "kept: $(ls kept)"

# --- Programs that hang, also when asked to end: at the step's limit, then at the run's.
rm -r gpu-work
sed -i 's/\(step certificates 60\) 60/\1 2/; s/\(step decode\) 25/\1 2/' gpu-run
act 'case "$*" in *filter=*) echo "knows this"; trap "" TERM; while :; do sleep 0.1; done ;; esac'
run 0 --seconds 100000
says output '^certificates .* at its limit of'
unpacked
says unpacked/gpu-work/certificates.log 'knows this'
says gpu-results/summary.txt '^report .* done'
run 0 --seconds 100000
called ""
act 'case "$*" in *"--rounds 11"*) echo "knows this"; sleep 100 ;; esac'
rm gpu-work/decode.state
run 3 --seconds 20
says output '^decode .* left, was cut off after'
unpacked
says unpacked/gpu-work/decode.log 'knows this'
rm bin/act
run 0 --seconds 100000
says bin/calls '^rooftile-bench weights'

# --- The run is ended in the middle of a step: it is asked to end, its first process is killed, all of it is killed.
for signal in TERM KILL "KILL all"; do
  rm -f gpu-work/decode.state
  act 'case "$*" in *"--rounds 11"*) echo $PPID >"$bin/all"; sleep 100 & echo $! >"$bin/sleeps"; wait ;; esac'
  ./gpu-run --seconds 100000 >output 2>&1 &
  for _ in {1..200}; do
    [ ! -e bin/sleeps ] || break
    sleep 0.1
  done
  # shellcheck disable=SC2046
  kill -"${signal% all}" $! $([ "$signal" != "KILL all" ] || cat bin/all)
  code=0
  wait $! 2>/dev/null || code=$?
  for _ in {1..200}; do
    alive "$(cat bin/all)" || break
    sleep 0.1
  done
  unpacked
  if [ "$signal" != "KILL all" ]; then
    [ "$signal $code" = "TERM 3" ] || [ "$signal $code" = "KILL 137" ] || fail "exit code $code after SIG$signal"
    says gpu-results/summary.txt '^decode .* cut off .* signal'
    ! alive "$(cat bin/sleeps)" || fail "the step's program still runs"
  else
    says gpu-results/summary.txt '^decode .* was running when this was written'
    kill "$(cat bin/sleeps)"
  fi
  says gpu-results/summary.txt '^gemm-types .* done'
  rm bin/act bin/sleeps bin/all
done

# --- No device, which ends the run at once.
rm -r gpu-work
act 'exit 1'
run 1
[ "$(wc -l <bin/calls)" = 1 ] || fail "more was called without a device: $(cat bin/calls)"
says output 'no device answers'

# --- Large results: in parts that may travel, without those that may not. All limits are a sixteenth.
rm -r gpu-work
sed -i 's/part_bytes=16777216/part_bytes=1048576/; s/40000000/2500000/; s/40000001/2500001/' gpu-run
act 'case "$*" in *--calibration) head -c 1152K /dev/urandom >"${ROOFTILE_DB%/*}/large"; head -c 1536K /dev/urandom >"${ROOFTILE_DB%/*}/larger" ;; esac'
run 0 --seconds 100000
says gpu-results/summary.txt '^not packed, .*: larger$'
unpacked
cmp gpu-work/large unpacked/gpu-work/large
[ "$(find gpu-results -type f | wc -l)" -le 5 ] && [ -z "$(find gpu-results -type f -size +1M)" ] ||
  fail "too much to travel: $(ls -l gpu-results)"
rm gpu-work/large* gpu-work/report.state bin/act
run 0
[ "$(ls -A gpu-results)" = $'gpu-work.tar.gz\nsummary.txt' ] || fail "old parts are left: $(ls -A gpu-results)"

# --- A full disk, where this test may mount one.
if unshare --mount true 2>/dev/null; then
  mkdir disk
  act 'case "$*" in *"--rounds 11"*) cat /dev/zero >"${ROOFTILE_DB%/*}/table.csv" ;; esac'
  unshare --mount bash -euc 'mount -t tmpfs -o size=20m tmpfs disk && cd disk
    code=0 && ../gpu-run --seconds 100000 >../output 2>&1 || code=$?
    cp -r gpu-results .. && [ $code = 1 ]' || fail "a full disk: $(cat output)"
  unpacked
  says gpu-results/summary.txt 'the disk of .* is full'
  says gpu-results/summary.txt '^decode .* left'
  says gpu-results/summary.txt '^dispatch .* left'
  says gpu-results/summary.txt '^gemm-types .* done'
else
  echo "may not mount a file system: the case of a full disk is left out"
fi
