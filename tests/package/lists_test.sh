#!/usr/bin/env bash
# Without the packages that only tests need, everything but the tests can be configured, and with ROOFTILE_TESTS a
# message names what is missing.   lists_test.sh SOURCE_DIR BINARY_DIR
. "$(dirname "$0")/scratch.sh"

listed() {
  sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$@"
}

twice=$(listed "$source_dir"/scripts/packages{,-test} | sort | uniq -d)
[ -z "$twice" ] || fail "in scripts/packages and scripts/packages-test, or twice in one:" "$twice"

hidden=()
for package in GTest rapidcheck MPI; do hidden+=("-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON"); done
quietly cmake -S "$source_dir" -B build -G Ninja "${hidden[@]}" -DROOFTILE_TESTS=OFF
# All found files belong to packages that scripts/build installs.
mapfile -t found < <(sed -n 's/^[^#/][^=]*=\(\/usr\/.*\)/\1/p' build/CMakeCache.txt | tr ';' '\n' | sort -u)
# A folder can have several owners; those lines are left out.
owners=$( (dpkg -S "${found[@]}" 2>/dev/null || true) | grep -v ', ' | cut -d: -f1 | sort -u)
grep -qx libfmt-dev <<<"$owners" || fail "libfmt-dev is not among the packages that were found:" "$owners"
for_tests=$(comm -12 <(listed "$source_dir/scripts/packages-test" | sort) <(echo "$owners"))
[ -z "$for_tests" ] || fail "used without tests, but listed in scripts/packages-test only:" "$for_tests"

! cmake -S "$source_dir" -B build -DROOFTILE_TESTS=ON >command.log 2>&1 || fail "tests are configured without GoogleTest"
grep -q 'Run scripts/test, which' command.log || fail "not said where GoogleTest comes from:" "$(cat command.log)"
