#!/usr/bin/env bash
# Installs the build tree into an empty prefix, then builds and runs outside of it: the README's C and C++ programs through
# find_package, pkg-config and the README's own command line, and examples/.   package_test.sh SOURCE_DIR BINARY_DIR
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

# snippet LANGUAGE FILE: the README's only fenced block of that language.
snippet() {
  [ "$(grep -c "^\`\`\`$1\$" "$source_dir/README.md")" = 1 ] || fail "README.md does not hold one $1 block"
  sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$source_dir/README.md" | sed '1d;$d' >"$2"
}

# expect WHAT PROGRAM: its output is the product that both README programs print.
expect() {
  [ "$("$2")" = $'4 5\n10 11' ] || fail "$1: wrong output"
}

cmake --install "$binary_dir" --prefix "$scratch/prefix" >/dev/null
snippet c example.c
snippet cpp example.cpp

for program in example.c example.cpp; do
  cmake -S "$source_dir/tests/package/outside" -B "outside-$program" -DSOURCE="$scratch/$program" \
    -DCMAKE_PREFIX_PATH="$scratch/prefix" >/dev/null
  cmake --build "outside-$program" >/dev/null
  expect "find_package, $program" "outside-$program/outside"
done

pc=$(find "$scratch/prefix" -name rooftile.pc -printf '%h')
flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs rooftile)
# shellcheck disable=SC2086
cc example.c -o from-c $flags
# shellcheck disable=SC2086
c++ -std=c++20 example.cpp -o from-cpp $flags
export LD_LIBRARY_PATH; LD_LIBRARY_PATH=$(dirname "$pc")
expect "pkg-config, C" ./from-c
expect "pkg-config, C++" ./from-cpp
unset LD_LIBRARY_PATH

# The README's command line names the source tree's folders.
ln -s "$source_dir/include" include
ln -s "$binary_dir" build
line=$(grep -o '`cc [^`]*`' "$source_dir/README.md" | tr -d '`')
[ -n "$line" ] || fail "README.md holds no cc line"
bash -c "$line"
expect "the README's cc line" ./a.out

cmake -S "$source_dir/examples" -B examples -DCMAKE_PREFIX_PATH="$scratch/prefix" >/dev/null
cmake --build examples >/dev/null
"$source_dir/tests/examples/examples_test.sh" examples/example_sgemm_c examples/example_sgemm_cpp examples/example_quantized \
  examples/example_mlp examples/example_vulkan_interop

"$scratch/prefix/bin/rooftile" --version
