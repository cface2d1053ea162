#!/usr/bin/env bash
# The ABI: a library exports the symbols of its list, no more and no fewer.   symbols_test.sh LIST LIBRARY
# A symbol that goes, or changes what it takes, needs a new major version (the soname); one that comes is added to the list.
set -euo pipefail
diff -u --label "$1" --label "$2" "$1" <(nm -D --defined-only "$2" | awk '{print $3}' | LC_ALL=C sort)
