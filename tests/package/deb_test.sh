#!/usr/bin/env bash
# Makes the Debian packages, installs them into an empty root with a dpkg database of its own, and uses what lies there: the
# command line, and the README's C program built against the installed files.   deb_test.sh SOURCE_DIR BINARY_DIR
set -euo pipefail
source_dir=$1 binary_dir=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME=$scratch ROOFTILE_DB=$scratch/none.db
cd "$scratch"

fail() {
  echo "$*" >&2
  exit 1
}

cpack --config "$binary_dir/CPackConfig.cmake" -B "$scratch/packages" >cpack.log 2>&1 || { cat cpack.log >&2; exit 1; }
packages=("$scratch"/packages/*.deb)
[ ${#packages[@]} = 3 ] || fail "three packages expected: ${packages[*]}"

mkdir -p root/var/lib/dpkg
touch root/var/lib/dpkg/status
# Only what these packages hold: what they depend on is this machine's.
dpkg --root="$scratch/root" --log=/dev/null --force-depends --force-not-root --force-script-chrootless -i "${packages[@]}" \
  >dpkg.log 2>&1 || { cat dpkg.log >&2; exit 1; }

# Every library that a program of a package needs is in a package that it depends on.
for package in librooftile0 rooftile; do
  depends=$(dpkg --root="$scratch/root" -s $package | sed -n 's/^Depends: //p')
  while read -r file; do
    while read -r library; do
      path=$(readlink -f "$library")  # dpkg knows some files by their names before /lib became a link
      owner=$( (dpkg -S "$path" || dpkg -S "${path#/usr}") 2>/dev/null | cut -d: -f1)
      [[ $depends == *"$owner "* ]] || fail "$package needs $library of $owner, but depends on: $depends"
    done < <(ldd "$scratch/root$file" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p')
  done < <(dpkg --root="$scratch/root" -L $package | grep -E '/bin/rooftile$|\.so\.[0-9.]+$')
done

library=$(dirname "$(find "$scratch/root" -name 'librooftile.so.0')")
export LD_LIBRARY_PATH=$library
version=$(sed -n 's/^project(rooftile VERSION \([0-9.]*\).*/\1/p' "$source_dir/CMakeLists.txt")
[[ $("$scratch/root/usr/bin/rooftile" --version) == *"$version"* ]] || fail "rooftile --version does not say $version"
[ -s "$scratch/root/usr/share/doc/librooftile0/copyright" ] || fail "no copyright file"

sed -n '/^```c$/,/^```$/p' "$source_dir/README.md" | sed '1d;$d' >example.c
export PKG_CONFIG_PATH=$library/pkgconfig
# shellcheck disable=SC2046
cc example.c -o example $(pkg-config --cflags --libs rooftile)
[ "$(./example)" = $'4 5\n10 11' ] || fail "the README's program, built against the packages, prints something else"

# Removed again, nothing is left of them.
dpkg --root="$scratch/root" --log=/dev/null --force-not-root --force-script-chrootless --purge rooftile librooftile-dev \
  librooftile0 >/dev/null 2>&1
left=$(find "$scratch/root" -path "$scratch/root/var" -prune -o -type f -print)
[ -z "$left" ] || fail "left behind: $left"
