#!/usr/bin/env bash
# The ABI: a library exports exactly the symbols of its list.   symbols_test.sh LIST LIBRARY
# Removing a symbol or changing its signature needs a new major version (the soname). A new symbol is added to the list.
set -euo pipefail
diff -u --label "$1" --label "$2" "$1" <(nm -D --defined-only "$2" | awk '{print $3}' | LC_ALL=C sort)
