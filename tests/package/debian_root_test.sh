#!/usr/bin/env bash
# scripts/debian-root runs a command in another file system, which sees sources that it cannot change, and nothing that it started
# outlives it. The file system holds some programs of this machine instead of packages.   debian_root_test.sh SOURCE_DIR BINARY_DIR
# shellcheck disable=SC2016  # expanded in there
. "$(dirname "$0")/scratch.sh"

unshare --mount true 2>/dev/null || { echo "this user may not mount anything"; exit 77; }
mkdir -p sources bin system/{dev,sys,proc,tmp,etc,usr/bin,usr/lib}
cp -r "$source_dir/scripts" "$source_dir/CMakePresets.json" sources/
: >sources/scripts/packages-root
root=$scratch/system
ln -s usr/bin usr/lib "$root/"
for program in bash env sleep umount; do
  cp -L "$(command -v $program)" "$root/usr/bin/"
  ldd "$(command -v $program)" | grep -o '/[^ ]*' | while read -r library; do
    mkdir -p "$root/${library%/*}"
    cp -L "$library" "$root/$library"
  done
done
cat >bin/mmdebstrap <<END
[ ! -e "$scratch/slow" ] || { echo >"$scratch/slow"; exec sleep 1000; }
[ -e "$scratch/packages" ] || { head -c 10240 /dev/zero | tr '\\0' x; exit 1; }
tar -C "$scratch/system" -c .
END
printf "#!/bin/sh\necho http://mirror.invalid/debian\n" >bin/apt-get
chmod +x bin/*
export PATH=$scratch/bin:$PATH ROOFTILE_ROOTS=roots
unset CMAKE_CXX_COMPILER_LAUNCHER

! sources/scripts/debian-root setup trixie 2>setup.log || fail "a system is made without its packages"
grep -q 'cannot be made' setup.log || fail "no message says that there is no system:" "$(cat setup.log)"
[ -z "$(find roots -mindepth 1 ! -name '*.lock')" ] || fail "half a system remains"
mkfifo slow
sources/scripts/debian-root setup trixie &
timeout 30 cat slow >/dev/null || fail "nothing makes the system"
kill $!
timeout 30 flock roots/trixie.lock true || fail "what makes the system outlives SIGTERM"
rm slow
touch packages

inside=(sources/scripts/debian-root run trixie bash -c)

# The first command sets the system up, and does not keep others from that while it runs.
mkdir -p sources/build-trixie/build
mkfifo sources/build-trixie/build/{begun,go}
"${inside[@]}" 'echo built >build/result; echo >build/begun; read -r -t 60 <>build/go' &
timeout 30 cat sources/build-trixie/build/begun >/dev/null || fail "the system cannot be set up"
quietly flock --nonblock roots/trixie.lock true
quietly "${inside[@]}" 'true'
[ -e sources/build-trixie/build-tsan ] || fail "the end of a command takes folders from another"
echo >sources/build-trixie/build/go
wait $! || fail "the first command failed"
[ "$(cat sources/build-trixie/build/result)" = built ] || fail "what is built does not lie in build-trixie"
[ ! -e sources/build-trixie/build-tsan ] || fail "folders of other presets remain"
! "${inside[@]}" '>scripts/new' 2>/dev/null || fail "the command can change sources"
code=0
"${inside[@]}" 'exit 5' || code=$?
[ "$code" = 5 ] || fail "the command's exit code 5 became $code"

# Whoever writes to the pipe is in there, and the end of the file comes when the last of them is gone.
mkfifo sources/build-trixie/build/pipe
for signal in TERM KILL; do
  "${inside[@]}" 'exec >build/pipe; echo begun; sleep 1000 & sleep 1000; true' &
  exec 3<sources/build-trixie/build/pipe
  read -r line <&3
  [ "$line" = begun ] || fail "the command has not begun"
  kill -$signal $!
  timeout 30 cat <&3 || fail "what the command started outlives SIG$signal"
  ! wait $! 2>/dev/null || fail "SIG$signal gave exit code 0"
done
