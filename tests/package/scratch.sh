# shellcheck shell=bash
# Common start of the tests of packages: a temporary folder, which is $HOME and the current folder and is deleted at the
# end, and the programs in README.md and docs/linking.md. Sourced with the test's arguments, SOURCE_DIR BINARY_DIR.
set -euo pipefail
source_dir=$1 binary_dir=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME=$scratch ROOFTILE_DB=$scratch/none.db
cd "$scratch"

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

# quietly COMMAND...: runs the command and shows its output only if it fails.
quietly() {
  "$@" >command.log 2>&1 || fail "$*:" "$(cat command.log)"
}

# snippet LANGUAGE FILE [PAGE]: extracts the only fenced block of that language from the page, else from README.md and docs/linking.md.
snippet() {
  local pages=("$source_dir/README.md" "$source_dir/docs/linking.md")
  [ $# = 2 ] || pages=("$source_dir/$3")
  [ "$(cat "${pages[@]}" | grep -c "^\`\`\`$1\$")" = 1 ] || fail "${pages[*]} do not hold one $1 block"
  cat "${pages[@]}" | sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" | sed '1d;$d' >"$2"
}

# expect WHAT PROGRAM: expects the output of both example programs.
expect() {
  [ "$("$2")" = $'4 5\n10 11' ] || fail "$1: wrong output"
}
