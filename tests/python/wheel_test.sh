#!/usr/bin/env bash
# Builds the wheel, installs it into a virtual environment, and uses it there: with the libraries that it carries, with NumPy and
# without.   wheel_test.sh SOURCE_DIR BINARY_DIR
set -euo pipefail
source_dir=$1 binary_dir=$2
unset PYTHONPATH ROOFTILE_LIBRARY ROOFTILE_PROGRAM
export ROOFTILE_DB=/nonexistent/none.db ROOFTILE_LOG=off PYTHONDONTWRITEBYTECODE=1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

"$source_dir/scripts/wheel" --from "$binary_dir" --out "$scratch/the wheels"
version=$("$binary_dir/rooftile" --version)
wheel=$(echo "$scratch/the wheels/"*)
[[ $wheel == */rooftile-$version-py3-none-manylinux_2_[0-9]*_x86_64.whl ]] || fail "the wheel is called $wheel"
# The wheel for users is made on Debian 12. OpenBLAS and shaderc of Debian 13 are larger.
most=20000000
[[ $wheel == *manylinux_2_36_* ]] || most=22000000
[ "$(stat -c %s "$wheel")" -le $most ] || fail "the wheel has $(stat -c %s "$wheel") bytes, more than $most"

# Debian's pip runs from its own wheel: to install pip into the environment, too, would take seconds.
/usr/bin/python3 -m venv --without-pip "$scratch/venv"
python=$scratch/venv/bin/python
"$python" "$(echo /usr/share/python-wheels/pip-*.whl)/pip" install -q --no-index --no-compile --disable-pip-version-check "$wheel"
cd "$scratch"

# Every library comes from the wheel, but for libc, the fallback for machines without libstdc++, and the driver.
bundle=$("$python" -c 'import rooftile, os; print(os.path.join(os.path.dirname(rooftile.__file__), "_bundle"))')
ldd "$bundle"/lib/*.so* "$bundle"/lib/rooftile/* "$bundle"/libexec/* | sed -n 's/^[[:space:]]*\([^ ]*\) => \([^ ]*\).*/\1 \2/p' | sort -u |
  while read -r name path; do
    case $name in libc.so.6 | libm.so.6 | ld-linux-x86-64.so.2 | libstdc++.so.6 | libgcc_s.so.1 | libdl.so.2 | libpthread.so.0) continue ;; esac
    [[ $path == "$bundle"/* ]] || fail "$name is $path"
  done
for package in libopenblas0-pthread libsqlite3-0 libshaderc-dev; do
  [ -s "$bundle/licences/$package.txt" ] || fail "no licence of $package: $(ls "$bundle/licences")"
done

# Without NumPy, on the wheel's OpenBLAS.
shown=$("$python" -c '
import array, rooftile as rt
a = memoryview(array.array("f", range(6))).cast("B").cast("f", (2, 3))
print(rt.matmul(a, memoryview(array.array("f", [1, 1, 1])).cast("B").cast("f", (3, 1))).tolist(), rt.version())
print(*sorted({line.split()[-1].split("/")[-1] for line in open("/proc/self/maps") if "_bundle/lib/lib" in line}))')
[[ $shown == "[[3.0], [12.0]] $version
libfmt.so."+([0-9])" libopenblas.so.0 librooftile.so.0 libsqlite3.so.0" ]] || fail "without NumPy: $shown"

# The program of the wheel, and its drop-in, for which LAPACK comes from elsewhere.
[ "$("$scratch/venv/bin/rooftile" --version)" = "$version" ] || fail "rooftile of the wheel does not start"
"$scratch/venv/bin/rooftile" devices | grep -q 'BLAS libopenblas.so.0' || fail "no OpenBLAS:" "$("$scratch/venv/bin/rooftile" devices)"
"$scratch/venv/bin/rooftile" run -- /usr/bin/python3 -c '
import numpy as np
a = np.arange(200 * 300, dtype="f4").reshape(200, 300) % 7 - 3
assert np.array_equal(a @ a.T, (a.astype("f8") @ a.T.astype("f8")).astype("f4"))
assert abs(np.linalg.det(np.diag([2.0, 3.0])) - 6) < 1e-12
assert "_bundle/lib/rooftile/librooftile_preload.so" in open("/proc/self/maps").read()'

# With the distribution's NumPy: what packs, guards and opens in the tests of the source tree, and all examples.
ROOFTILE_INSTALLED=1 PYTHONPATH=$bundle/../..:/usr/lib/python3/dist-packages "$python" -m pytest -q -p no:cacheprovider \
  "$source_dir/tests/python/test_session.py" "$source_dir/tests/python/test_docstrings.py" -k "guard or packed or examples_are_right"
