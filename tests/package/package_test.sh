#!/usr/bin/env bash
# Installs the build tree into an empty prefix, then builds and runs the README's C program outside of it, once through
# find_package and once through pkg-config.   package_test.sh SOURCE_DIR BINARY_DIR
set -euo pipefail
source_dir=$1 binary_dir=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME=$scratch ROOFTILE_DB=$scratch/none.db

cmake --install "$binary_dir" --prefix "$scratch/prefix" >/dev/null
sed -n '/^```c$/,/^```$/p' "$source_dir/README.md" | sed '1d;$d' >"$scratch/readme.c"
[ -s "$scratch/readme.c" ] || { echo "README.md holds no C program"; exit 1; }
expected=$'4 5\n10 11'

cmake -S "$source_dir/tests/package/outside" -B "$scratch/outside" -DSOURCE="$scratch/readme.c" \
  -DCMAKE_PREFIX_PATH="$scratch/prefix" >/dev/null
cmake --build "$scratch/outside" >/dev/null
[ "$("$scratch/outside/outside")" = "$expected" ] || { echo "find_package: wrong output"; exit 1; }

pc=$(find "$scratch/prefix" -name rooftile.pc -printf '%h')
# shellcheck disable=SC2046
cc "$scratch/readme.c" -o "$scratch/readme" $(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs rooftile)
[ "$(LD_LIBRARY_PATH=$(dirname "$pc") "$scratch/readme")" = "$expected" ] || { echo "pkg-config: wrong output"; exit 1; }
"$scratch/prefix/bin/rooftile" --version
