#!/usr/bin/env bash
# Makes a bundle and runs it on a bare machine, which has only libc, a shell and a Vulkan driver. The machine is a root
# directory of its own. Where the test may not enter one, it uses this machine and checks every library that is loaded.
#   bundle_test.sh SOURCE_DIR BINARY_DIR
# shellcheck disable=SC2016  # $ORIGIN is for the loader
set -euo pipefail
source_dir=$1 binary_dir=$2
PATH=$PATH:/usr/sbin
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
root=$scratch/root

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

# --- The bare machine: glibc, sh and readlink for the launcher, and in /driver Mesa's software device with its
# libraries except libstdc++. Only these search /driver for libraries.
libc=(libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1)
mkdir -p "$root"/{bin,lib64,lib/x86_64-linux-gnu,driver,proc,dev,tmp,home,opt}
cp -L /lib64/ld-linux-x86-64.so.2 "$root/lib64/"
cp -L "${libc[@]/#//lib/x86_64-linux-gnu/}" "$root/lib/x86_64-linux-gnu/"
cp -L /bin/sh "$(command -v readlink)" "$root/bin/"
manifest=$(find /usr/share/vulkan/icd.d -name 'lvp_icd.*json')
[ -f "$manifest" ] || fail "no software device here; install mesa-vulkan-drivers"
driver=$(sed -n 's/.*"library_path": *"\(.*\)".*/\1/p' "$manifest")
# Debian 12's manifest has the path, that of Debian 13 the name of the file.
[[ $driver == /* ]] || driver=$(/sbin/ldconfig -p | sed -n "s|^[[:space:]]*$driver (.* => ||p" | head -n 1)
cp -L "$driver" "$root/driver/driver.so"
while read -r name path; do
  case " ${libc[*]} libstdc++.so.6 libgcc_s.so.1 " in
    *" $name "*) ;;
    *) cp -L "$path" "$root/driver/$name" ;;
  esac
done < <(ldd "$driver" | sed -n 's/^[[:space:]]*\([^ ]*\) => \(\/[^ ]*\) .*/\1 \2/p')
patchelf --set-rpath '$ORIGIN' "$root"/driver/*
echo '{"file_format_version": "1.0.0", "ICD": {"library_path": "./driver.so", "api_version": "1.1.230"}}' >"$root/driver/icd.json"

# The command that enters the machine, as any user or as root, and its root directory as its programs see it. chroot
# alone is not sufficient, because programs with $ORIGIN need /proc.
for flags in -rmpf -mpf; do
  enter=("$(command -v unshare)" "$flags" "--mount-proc=$root/proc" "$(command -v chroot)" "$root") at=""
  ! "${enter[@]}" /bin/sh -c : 2>/dev/null || break
  enter=() at=$root
done
echo "entering the machine by: ${enter[*]:-nothing, this machine with a look at what is loaded}"

# line PROGRAM ARG...: prints the command that runs it there with $setting in its environment; a log of loaded libraries
# goes to /tmp.
setting=()
line() {
  rm -f "$root"/tmp/loaded.*
  line=(env -i HOME="$at/home" VK_DRIVER_FILES="$at/driver/icd.json" VK_LOADER_LAYERS_DISABLE='*'
    "${setting[@]}" "${enter[@]}" /bin/sh -c 'LD_DEBUG=files LD_DEBUG_OUTPUT=$0 exec "$@"' "$at/tmp/loaded" "$@")
}

# Prints the libraries that it and its children have loaded.
loaded() {
  cat "$root"/tmp/loaded.* 2>/dev/null | sed -n 's/.*calling init: //p'
}

# is_bare WHAT: expects that only libraries of the bundle, the driver and libc were loaded.
is_bare() {
  local path
  while read -r path; do
    case $path in "$at/opt/"* | "$at/driver/"* | "$at/tools/"*) continue ;; esac
    case " ld-linux-x86-64.so.2 ${libc[*]} libstdc++.so.6 libgcc_s.so.1 " in
      *" ${path##*/} "*) ;;
      *) fail "$1: loads $path" ;;
    esac
  done < <(loaded)
}

# machine PROGRAM ARG...: runs it there, with its output in $output.
machine() {
  local code=0
  line "$@"
  output=$("${line[@]}" 2>&1) || code=$?
  is_bare "$*"
  return "$code"
}

# interrupted CONDITION PROGRAM ARG...: starts it there, and sends Ctrl-C to it and its children as soon as the command CONDITION
# succeeds; its output is in $output, its exit code in $code. This shell lets programs in the background ignore Ctrl-C.
interrupted() {
  local condition=$1
  shift
  line "$@"
  env --default-signal=INT setsid "${line[@]}" >"$scratch/output" 2>&1 &
  for _ in {1..200}; do
    ! $condition || break
    sleep 0.1
  done
  kill -INT -- -$!
  code=0
  wait $! || code=$?
  output=$(<"$scratch/output")
}

succeeds() {
  machine "$@" || fail "$*: failed" "$output"
}

prints() {
  grep -q -- "$1" <<<"$output" || fail "not printed: $1" "$output"
}

# standard_library FOLDER: expects that the last program loaded libstdc++ from this folder.
standard_library() {
  [ -z "${enter[*]}" ] || grep -q "/$1/libstdc++.so.6\$" < <(loaded) || fail "libstdc++ is not $1's" "$(loaded)"
}

# works BUNDLE: runs the commands with which users start.
works() {
  local bin=$at$1/bin
  succeeds "$bin/rooftile" --version
  [ "$output" = "$version" ] || fail "--version: $output instead of $version"
  for core in Prescott Nehalem; do
    setting=("OPENBLAS_CORETYPE=$core")
    succeeds "$bin/rooftile" devices
    prints llvmpipe
    prints "BLAS libopenblas.so.0, kernels for $core"
  done
  setting=()
  succeeds "$bin/rooftile" gemm "$at/home/a.npy" "$at/home/b.npy" -o "$at/home/c.npy" --trans-b
  prints '^5x7x33 nt: host'
  "$python" -c 'import sys, numpy as np; a, b, c = map(np.load, sys.argv[1:]); np.testing.assert_array_equal(c, a @ b.T)' \
    "$root"/home/{a,b,c}.npy
  rm "$root/home/c.npy"
}

# --- The bundle. Its archive is not compressed: the one file below is, with a fast setting; a wide window makes unpacking three times
# as fast.
export XZ_OPT=--lzma2=preset=0,dict=64MiB,nice=8,depth=1
mkdir "$scratch/uncompressed"
printf '%s\n' '#!/bin/sh' 'exec cat' >"$scratch/uncompressed/xz"
chmod +x "$scratch/uncompressed/xz"
python=/usr/bin/python3
"$python" -c 'import sys, numpy as np
for file, rows in zip(sys.argv[1:], (5, 7)): np.save(file, (np.arange(rows * 33) % 11 - 5).astype("f4").reshape(rows, 33))' \
  "$root"/home/{a,b}.npy
version=$("$binary_dir/rooftile" --version)
name=rooftile-$version-linux-x86_64
cd "$scratch"
mkdir "the bundles"
ln -s "the bundles" link
PATH=$scratch/uncompressed:$PATH "$source_dir/scripts/bundle" --from "$binary_dir" --out link --archive
rm -r "link/$name"
tar -C "$root/opt" -xf "link/$name.tar.xz"

# --- A machine without libstdc++.
works "/opt/$name"
standard_library lib/fallback
for program in "$root/opt/$name"/bin/*; do succeeds "$at/opt/$name/bin/${program##*/}" --help; done
succeeds "$at/opt/$name/bin/rooftile-bench" overhead --list  # It opens librooftile.so.
prints '^adding '

# --- The bundle after a move, on a machine with a libstdc++ that is new enough.
mv "$root/opt/$name" "$root/opt/roof tile"
cp -L /lib/x86_64-linux-gnu/{libstdc++.so.6,libgcc_s.so.1} "$root/lib/x86_64-linux-gnu/"
works "/opt/roof tile"
standard_library lib/x86_64-linux-gnu

# --- A machine with too old a libstdc++, which has only the first version of the symbols. The program is started
# through a link.
echo 'GLIBCXX_3.4 { global: *; };' >"$scratch/old.map"
echo 'int old;' | cc -x c -shared -fPIC - -o "$root/lib/x86_64-linux-gnu/libstdc++.so.6" -Wl,-soname,libstdc++.so.6 \
  -Wl,--version-script="$scratch/old.map"
ln -s "$at/opt/roof tile/bin/rooftile" "$root/bin/tuner"
succeeds "$at/bin/tuner" devices
prints llvmpipe
standard_library lib/fallback

# --- The tuner starts itself again as its worker through /proc/self/exe. It is interrupted as soon as both have opened the driver.
worker_began() {
  [ "$(loaded | grep -c '/driver.so$')" -ge 2 ]
}
interrupted worker_began "$at/bin/tuner" tune --m 8 --n 9 --k 10
[ $code = 130 ] || fail "rooftile tune: exit code $code after Ctrl-C" "$output"
worker_began || fail "no worker opened the driver" "$output"

# --- A C program that is built with the bundle's pkg-config file runs there.
cat >"$scratch/outside.c" <<'END'
#include <rooftile/rooftile.h>
#include <stdio.h>
int main(void) {
  float a[2 * 3] = {1, 2, 3, 4, 5, 6}, b[3 * 1] = {1, 0, 2}, c[2 * 1];
  rooftile_context* context = NULL;
  const rooftile_sgemm_args args = {.struct_size = sizeof args, .m = 2, .n = 1, .k = 3, .alpha = 1,
                                    .a = a, .lda = 3, .b = b, .ldb = 1, .c = c, .ldc = 1};
  if (rooftile_open(NULL, &context) != ROOFTILE_OK || rooftile_sgemm(context, &args) != ROOFTILE_OK) return 1;
  printf("%g %g\n", c[0], c[1]);
  rooftile_close(context);
  return 0;
}
END
mv "$root/opt/roof tile" "$root/opt/$name"
flags=$(PKG_CONFIG_PATH=$root/opt/$name/lib/pkgconfig pkg-config --cflags --libs rooftile)
# shellcheck disable=SC2086
cc "$scratch/outside.c" -o "$root/opt/outside" $flags -Wl,-rpath,'$ORIGIN'/"$name/lib"
setting=(LD_LIBRARY_PATH="$at/opt/$name/lib/fallback")
succeeds "$at/opt/outside"
prints '^7 16$'
setting=()

# --- A bundled example runs with its Python package and library; package.InstalledTreeBuildsOutsidePrograms runs all of them. It needs
# Python, which the bare machine lacks, so it runs on this machine.
example=$root/opt/$name/share/doc/rooftile/examples/python/pca.py
output=$(PYTHONPATH="$root/opt/$name/lib/python3/dist-packages" ROOFTILE_DB=$scratch/none.db PYTHONDONTWRITEBYTECODE=1 \
  "$python" "$example" 2>&1) || fail "$example: failed" "$output"

# --- The one file that measures unpacks itself and begins, where the programs that it names as its needs lie in /tools.
for tool in bash basename cat cksum cp date df gzip head ls mkdir mv readlink rm sed sleep split stat tail tar touch wc xz; do
  install -D -t "$root/tools" "$(command -v $tool)"
done
while read -r library path; do
  case " ${libc[*]} " in *" $library "*) ;; *) cp -L "$path" "$root/tools/$library" ;; esac
done < <(ldd "$root"/tools/* | sed -n 's/^[[:space:]]*\([^ ]*\) => \(\/[^ ]*\) .*/\1 \2/p' | sort -u)
patchelf --set-rpath '$ORIGIN' "$root"/tools/*
: >"$root/dev/null"
"$source_dir/scripts/bundle" --gpu-run --from "$binary_dir" --out link
mv "link/rooftile-$version-gpu-run" "$root/opt/measure"
[ "$(stat -c %s "$root/opt/measure")" -lt 30000000 ] || fail "it is too large to travel: $(ls -l "$root/opt/measure")"
setting=("PATH=$at/tools")
measure_began() {
  grep -q '^devices: ' "$scratch/output"
}
interrupted measure_began "$at/tools/bash" "$at/opt/measure" --rehearsal --work "$at/tmp/work" --out "$at/tmp/out"
is_bare measure
[ $code = 3 ] || fail "exit code $code instead of 3, for steps that are left" "$output"
prints '^devices: done'
prints 'UTC: llvmpipe'
[ -s "$root/tmp/out/work.tar.gz" ] || fail "no results" "$output"
setting=()
# The programs of the steps that were left start there, too.
succeeds "$at/opt/measure.unpacked/bin/certify_test" --gtest_list_tests
succeeds "$at/opt/measure.unpacked/bin/rooftile-bench" --help

# --- Checks the bare machine: without one of its libraries the bundle does not start.
if [ ${#enter[@]} -gt 0 ]; then
  rm "$root/opt/$name/lib/libsqlite3.so.0"
  ! machine "$at/opt/$name/bin/rooftile" --version || fail "runs without its libsqlite3: this machine is not bare"
  prints 'libsqlite3.so.0: cannot open'
fi
