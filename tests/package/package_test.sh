#!/usr/bin/env bash
# Installs the build tree into an empty prefix, then builds and runs programs outside of it: the README's C and C++
# programs through find_package, pkg-config and the README's own command line, and the installed examples. Compiles the
# code of docs/resident.md.
# package_test.sh SOURCE_DIR BINARY_DIR
. "$(dirname "$0")/scratch.sh"

quietly cmake --install "$binary_dir" --prefix "$scratch/prefix"
snippet c example.c
snippet cpp example.cpp

for program in example.c example.cpp; do
  quietly cmake -S "$source_dir/tests/package/outside" -B "outside-$program" -DSOURCE="$scratch/$program" \
    -DCMAKE_PREFIX_PATH="$scratch/prefix"
  quietly cmake --build "outside-$program"
  expect "find_package, $program" "outside-$program/outside"
done

pc=$(find "$scratch/prefix" -name rooftile.pc -printf '%h')
flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs rooftile)
# shellcheck disable=SC2086
cc example.c -o from-c $flags
# shellcheck disable=SC2086
c++ -std=c++20 example.cpp -o from-cpp $flags
snippet cpp vulkan.cpp docs/resident.md
# shellcheck disable=SC2086
c++ -std=c++20 -Wall -Wextra -Werror -c vulkan.cpp $flags
export LD_LIBRARY_PATH; LD_LIBRARY_PATH=$(dirname "$pc")
expect "pkg-config, C" ./from-c
expect "pkg-config, C++" ./from-cpp
unset LD_LIBRARY_PATH

# The README's command line names folders of the source tree.
ln -s "$source_dir/include" include
ln -s "$binary_dir" build
line=$(grep -o '`cc [^`]*`' "$source_dir/README.md" | tr -d '`')
[ -n "$line" ] || fail "README.md holds no cc line"
bash -c "$line"
expect "the README's cc line" ./a.out

installed=$scratch/prefix/share/doc/rooftile/examples
quietly cmake -S "$installed" -B examples -DCMAKE_PREFIX_PATH="$scratch/prefix"
quietly cmake --build examples
"$source_dir/tests/examples/examples_test.sh" examples/example_sgemm_c examples/example_sgemm_cpp examples/example_quantized \
  examples/example_mlp examples/example_vulkan_interop
quietly cmake -S "$installed/scalapack" -B examples-scalapack
quietly cmake --build examples-scalapack
[ -x "$installed/scalapack/device-per-rank" ] || fail "device-per-rank is not executable"
# The package finds the library of its prefix. The other tests of the file run on the source tree (examples.PythonPrintsRightResults).
quietly env ROOFTILE_EXAMPLES="$installed" PYTHONPATH="$scratch/prefix/lib/python3/dist-packages" PYTHONDONTWRITEBYTECODE=1 \
  /usr/bin/python3 -m pytest -q -p no:cacheprovider "$source_dir/tests/examples/python_test.py" -k readme

# The package of the tools has neither examples nor headers among its documents.
quietly cmake --install "$binary_dir" --component tools --prefix "$scratch/tools"
/usr/bin/python3 "$source_dir/tests/docs/test_docs.py" --installed "$scratch/tools/share/doc/rooftile"

"$scratch/prefix/bin/rooftile" --version
