#!/usr/bin/env bash
# scripts/release refuses what is no release, and its folder appears only after every check has passed. A stand-in makes no systems: it
# notes the script that would run there, and what the first one builds.   release_test.sh SOURCE_DIR BINARY_DIR
. "$(dirname "$0")/scratch.sh"

version=$("$binary_dir/rooftile" --version)
mkdir -p sources/scripts bin
cp "$source_dir"/scripts/{release,debian-packages.bash,progress.bash,packages,packages-wheel} sources/scripts/
: >sources/scripts/packages-root
cp "$source_dir/CMakeLists.txt" sources/
printf '# Changelog\n\n## [%s] - 2026-01-01\n\n## [0.0.1] - 2025-01-01\n' "$version" >sources/CHANGELOG.md
cat >bin/mmdebstrap <<'END'
#!/usr/bin/env bash
set -e
for argument; do
  case $argument in --customize-hook=copy-out*) work=${argument##* } ;; esac
done
cp "$work/script" "$SYSTEMS/$(ls "$SYSTEMS" | wc -l)"
[ "$(ls "$SYSTEMS" | wc -l)" != "$FAILS" ] || { echo "the cause"; exit 1; }
mkdir -p "$work/out"
[ "$(ls "$SYSTEMS" | wc -l)" != 1 ] || touch "$work/out"/{a.deb,b-linux-x86_64.tar.xz,c.whl}
END
printf '#!/bin/sh\necho http://mirror.invalid/debian\n' >bin/apt-get
chmod +x bin/*
export PATH=$scratch/bin:$PATH SYSTEMS=$scratch/systems FAILS=0 GIT_CONFIG_NOSYSTEM=1 LC_ALL=C
git config --global user.name Somebody
git config --global user.email somebody@example.invalid

# refuses TEXT [ARG...]: expects that text, exit code 1, and no folder.
refuses() {
  local text=$1 code=0
  shift
  rm -rf "$SYSTEMS"
  mkdir "$SYSTEMS"
  sources/scripts/release --out "$scratch/made" "$@" >output 2>&1 || code=$?
  [ $code = 1 ] && grep -qF -- "$text" output || fail "exit code $code, without '$text':" "$(cat output)"
  [ -z "$(find . -maxdepth 1 -name 'made*')" ] || fail "a release in spite of '$text'"
}

refuses "needs a clone; git says: fatal: not a git repository"
git -C sources init -q
refuses "not committed"
git -C sources add .
git -C sources commit -qm "The release"
mkdir occupied
refuses "occupied exists" --out "$scratch/occupied"
for heading in "## [Unreleased]" "## [9.9.9] - 2026-01-01" "## [$version]" ""; do
  echo "$heading" >sources/CHANGELOG.md
  git -C sources commit -qam "A heading"
  refuses "begins with '$heading' instead of '## [$version] - DATE'"
done
git -C sources reset -q --hard HEAD~4
touch file
refuses "cannot make $scratch/file/made.part" --out "$scratch/file/made"
TMPDIR="$scratch/a b" refuses "takes no folder with a space"
for FAILS in 1 2 3 4; do
  refuses "the cause"
done

FAILS=0
rm -r "$SYSTEMS" && mkdir "$SYSTEMS"
quietly sources/scripts/release --out "$scratch/made"
[ "$(ls "$SYSTEMS" | wc -l)" = 4 ] || fail "systems: $(ls "$SYSTEMS")"
for script in "$SYSTEMS"/*; do
  quietly bash -n "$script"
  grep -q '^first_steps [^(]' "$script" || fail "a part is not tried:" "$(cat "$script")"
done
cd made
[ "$(echo *)" = "SHA256SUMS a.deb b-linux-x86_64.tar.xz c.whl rooftile-$version.tar.xz" ] || fail "made: $(echo *)"
quietly sha256sum --strict -c SHA256SUMS
tar -xf "rooftile-$version.tar.xz"
quietly diff -r --exclude=.git "rooftile-$version" "$scratch/sources"
