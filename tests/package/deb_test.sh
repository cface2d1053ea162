#!/usr/bin/env bash
# Makes the Debian packages and installs them into an empty root with a dpkg database of its own. Then it uses the
# installed command line, builds the README's C program and the examples against the installed files, and runs NumPy
# with the BLAS that update-alternatives chooses.   deb_test.sh SOURCE_DIR BINARY_DIR
. "$(dirname "$0")/scratch.sh"
PATH=$PATH:/usr/sbin:/sbin
root=$scratch/root
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
libdir=/usr/lib/$triplet
blas=libblas.so.3-$triplet

# in_root ARG...: runs dpkg on the root, which holds only these packages; their dependencies are this machine's. Their
# scripts run on this machine and get the root as an option, which they pass on to update-alternatives.
in_root() {
  quietly dpkg --root="$root" --log=/dev/null --force-depends --force-not-root --force-script-chrootless "$@"
}

alternatives() {
  update-alternatives --root "$root" "$@"
}

# Prints the library that programs in the root get as libblas.so.3.
chosen() {
  readlink "$root$(readlink "$root$libdir/libblas.so.3")"
}

expect_chosen() {
  [ "$(chosen)" = "$libdir/$2/libblas.so.3" ] || fail "$1, libblas.so.3 is $(chosen) instead of $2's"
}

quietly cpack --config "$binary_dir/CPackConfig.cmake" -D CPACK_DEBIAN_COMPRESSION_TYPE=zstd -B "$scratch/packages"  # faster than xz
packages=("$scratch"/packages/*.deb)
[ ${#packages[@]} = 4 ] || fail "four packages expected: ${packages[*]}"

# --- A machine with the reference BLAS, whose priority on Debian is 10.
mkdir -p "$root"/var/lib/dpkg/alternatives "$root"/var/log "$root"/etc/alternatives "$root$libdir/blas"
touch "$root/var/lib/dpkg/status"
cp -L "$libdir/blas/libblas.so.3" "$root$libdir/blas/"
quietly alternatives --install "$libdir/libblas.so.3" "$blas" "$libdir/blas/libblas.so.3" 10
in_root -i "${packages[@]}"

# Every library that a package's program needs is in a package on which it depends.
for package in librooftile0 rooftile; do
  depends=$(dpkg --root="$root" -s $package | sed -n 's/^Depends: //p')
  mapfile -t files < <(dpkg --root="$root" -L $package | grep -E '/bin/rooftile$|\.so\.[0-9.]+$')
  mapfile -t libraries < <(ldd "${files[@]/#/$root}" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | sort -u | xargs readlink -f)
  # dpkg knows some files by their names before /lib became a link.
  owners=$(dpkg -S "${libraries[@]}" "${libraries[@]#/usr}" 2>/dev/null) || true
  [ ${#libraries[@]} -gt 3 ] || fail "$package needs no more libraries than: ${libraries[*]}"
  for library in "${libraries[@]}"; do
    owner=$(sed -n "s|:.* \(/usr\)\?${library#/usr}\$||p" <<<"$owners" | head -n 1)
    [[ -n $owner && $depends == *"$owner "* ]] || fail "$package needs $library of '$owner', but depends on: $depends"
  done
done

# --- Files lie in the distribution's folders, and the loader finds them without a maintainer script that calls
# ldconfig.
[ "$(ls "$root/usr/lib" | paste -sd' ')" = "python3 $triplet" ] || fail "libraries outside of $libdir:" "$(ls "$root/usr/lib")"
[ "$(grep -c '^activate-noawait ldconfig$' "$root/var/lib/dpkg/info/librooftile0.triggers")" = 1 ] || fail "no ldconfig trigger"
! grep -l ldconfig "$root"/var/lib/dpkg/info/*.p{ost,re}* 2>/dev/null || fail "a script calls ldconfig, which the trigger does"
[ -s "$root/usr/share/doc/librooftile0/copyright" ] || fail "no copyright file"
for package in librooftile0 rooftile; do
  licences=$root/usr/share/doc/$package/licences
  grep -q 'Chart.js Contributors' "$licences/libjs-chart.js.txt" && [ -s "$licences/libshaderc-dev.txt" ] ||
    fail "$package holds code whose licence it lacks: $(ls "$licences")"
done

# --- The manual and what shells need to complete words.
for file in man/man1/rooftile.1.gz man/man1/rooftile-db-import.1.gz bash-completion/completions/rooftile \
    zsh/vendor-completions/_rooftile fish/vendor_completions.d/rooftile.fish; do
  [ -s "$root/usr/share/$file" ] || fail "the package lacks $file"
done

# --- The command line, and programs that are built against the packages.
export LD_LIBRARY_PATH=$root$libdir
version=$(sed -n 's/^project(rooftile VERSION \([0-9.]*\).*/\1/p' "$source_dir/CMakeLists.txt")
[[ $("$root/usr/bin/rooftile" --version) == *"$version"* ]] || fail "rooftile --version does not say $version"
# shellcheck disable=SC2016  # by that shell
preloaded=$("$root/usr/bin/rooftile" run -- sh -c 'echo "$LD_PRELOAD"')
[ "$preloaded" = "$root$libdir/rooftile/librooftile_preload.so" ] || fail "rooftile run preloads $preloaded"

snippet c example.c
export PKG_CONFIG_PATH=$LD_LIBRARY_PATH/pkgconfig
# shellcheck disable=SC2046
cc example.c -o example $(pkg-config --cflags --libs rooftile)
expect "pkg-config" ./example
quietly cmake -S "$source_dir/tests/package/outside" -B outside -DSOURCE="$scratch/example.c" -DCMAKE_PREFIX_PATH="$root/usr"
quietly cmake --build outside
expect "find_package" outside/outside

examples=$root/usr/share/doc/librooftile-dev/examples
quietly cmake -S "$examples" -B examples -DCMAKE_PREFIX_PATH="$root/usr"
# package.InstalledTreeBuildsOutsidePrograms builds and runs all of them, with the same headers.
quietly cmake --build examples --target example_sgemm_c example_sgemm_cpp
for program in examples/example_sgemm_{c,cpp}; do quietly "$program"; done
quietly diff -r "$source_dir/include" "$root/usr/include"
quietly env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$root/usr/lib/python3/dist-packages" /usr/bin/python3 "$examples/python/pca.py"
unset LD_LIBRARY_PATH

# --- Rooftile is a provider of libblas.so.3, and is used only after an explicit choice.
expect_chosen "Installed" blas
grep -q '^Priority: 5$' < <(alternatives --query "$blas" | grep -A 1 "^Alternative: $libdir/rooftile/") ||
  fail "Rooftile is no provider of libblas.so.3 with priority 5:" "$(alternatives --query "$blas")"
quietly alternatives --set "$blas" "$libdir/rooftile/libblas.so.3"
expect_chosen "Asked for" rooftile
in_root -i "${packages[@]}"
expect_chosen "Upgraded" rooftile

# Follows the links as the loader of a system with this root does.
mkdir system
ln -s "$root$(chosen)" system/libblas.so.3
loaded=$(LD_LIBRARY_PATH=$scratch/system /usr/bin/python3 -c '
import numpy as np
a = np.arange(200 * 300, dtype="f4").reshape(200, 300) % 7 - 3
assert np.array_equal(a @ a.T, (a.astype("f8") @ a.T.astype("f8")).astype("f4"))
print(*sorted({line.split()[-1] for line in open("/proc/self/maps")}), sep="\n")')
for library in rooftile/libblas.so.3 "librooftile.so.$version"; do
  grep -qx "$root$libdir/$library" <<<"$loaded" || fail "NumPy's product does not get to $library:" "$loaded"
done

# --- Removing the packages leaves no files behind.
in_root --purge rooftile librooftile-dev python3-rooftile librooftile0
expect_chosen "Purged" blas
quietly alternatives --remove-all "$blas"
rm -r "$root$libdir/blas"
left=$(find "$root" -path "$root/var" -prune -o ! -type d -print)
[ -z "$left" ] || fail "left behind: $left"
