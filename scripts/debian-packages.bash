# shellcheck shell=bash
# Functions of the scripts that install Debian packages, or unpack those of a later Debian into a folder. To be sourced; the
# script's name begins the messages.

# shellcheck source=scripts/progress.bash
. "$(dirname "${BASH_SOURCE[0]}")/progress.bash"

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
multiarch=$(uname -m)-linux-gnu

fail() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

# listed_packages LIST...: prints the packages of these files (one a line, comments behind #).
listed_packages() {
  sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$@" | sort -u
}

# install_missing LIST...: installs the packages of these files (one a line, comments behind #) as root, or through sudo where
# that works without asking; otherwise names them and ends the script.
install_missing() {
  command -v dpkg-query >/dev/null || fail "needs a Debian-like system (dpkg-query not found)"
  local missing as_root=()
  mapfile -t missing < <(comm -23 <(listed_packages "$@") \
    <(dpkg-query -W -f '${db:Status-Status} ${Package}\n${db:Status-Status} ${Package}:${Architecture}\n' 2>/dev/null |
      sed -n 's/^installed //p' | sort -u))
  [ "${#missing[@]}" -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
      as_root=(sudo -n)
    else
      fail "these packages are missing and this user may not install them; please run:
  sudo apt-get install --no-install-recommends ${missing[*]}"
    fi
  fi
  echo "installing: ${missing[*]}" >&2
  "${as_root[@]}" apt-get -qq update 2>&1 | follow packages || fail "the apt sources of this system cannot be read; see above"
  # The shell opens the descriptor of apt's status lines, because sudo would close it.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive sh -c 'exec apt-get -qq -y -o APT::Status-Fd=3 -o DPkg::Lock::Timeout=300 \
    --no-install-recommends install "$@" 3>&1 >/dev/null' sh "${missing[@]}" 2>&1 | follow packages || fail "these packages cannot be installed; see above"
}

# Prints the Debian mirror of this machine's apt sources.
debian_mirror() {
  local mirror
  # shellcheck disable=SC2016
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | grep -m 1 debian || true)
  [ -n "$mirror" ] || fail "the apt sources of this machine name no Debian mirror"
  echo "$mirror"
}

# private_apt STATE ARGUMENT...: runs apt-get with its state in the folder STATE, so that the machine's packages have no
# influence and are not changed.
private_apt() {
  local state=$1
  shift
  apt-get -qq -o "Dir::State::Lists=$state/lists" -o "Dir::State::Status=$state/status" -o "Dir::Cache=$state/cache" \
    -o "Dir::Etc::SourceList=$state/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
    -o APT::Install-Recommends=false -o APT::Sandbox::User=root -o Debug::NoLocking=1 -o Acquire::Retries=3 "$@"
}

# private_sources STATE KIND SUITE...: makes the folder STATE for private_apt, with these suites of the mirror. KIND: deb, or
# deb-src for sources too.
private_sources() {
  local state=$1 kind=$2 mirror suite
  shift 2
  [ -e "$keyring" ] || fail "$keyring is missing; install debian-archive-keyring"
  mirror=$(debian_mirror)
  mkdir -p "$state"/{lists/partial,cache/archives/partial}
  : >"$state/status"
  for suite in "$@"; do
    echo "deb [signed-by=$keyring] $mirror $suite main"
    [ "$kind" = deb ] || echo "deb-src [signed-by=$keyring] $mirror $suite main"
  done >"$state/sources.list"
  private_apt "$state" update || fail "$mirror cannot be read"
}

# unpack_later_debian TARGET RELEASE SUITE PACKAGE...: unpacks packages of SUITE (RELEASE or a suite over it, such as its
# backports) with what they depend on into the folder TARGET, which appears complete or not at all.
unpack_later_debian() {
  local target=$1 release=$2 suite=$3 packages package
  shift 3
  [ ! -d "$target" ] || return 0
  local state=$target.apt part=$target.part
  rm -rf "$state" "$part"
  mkdir -p "$part" "$state/packages"
  if [ "$suite" = "$release" ]; then private_sources "$state" deb "$release"; else private_sources "$state" deb "$release" "$suite"; fi
  # Packages that an installation on an empty system would take, without those that are not needed here.
  packages=$(private_apt "$state" -s -t "$suite" install "$@" |
    sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1=\2/p' | grep -Ev '^(debconf|dpkg|tar|perl|python|mawk|init|base-files|libpam|passwd)')
  [ -n "$packages" ] || fail "the mirror has no $* in $suite"
  # shellcheck disable=SC2086
  (cd "$state/packages" && private_apt "$state" download $packages) || fail "packages of $suite cannot be downloaded"
  for package in "$state"/packages/*.deb; do dpkg -x "$package" "$part"; done
  rm -rf "$state"
  mv "$part" "$target"
}

# copy_with_libraries PROGRAM LIBRARIES FOLDER: prints the path of a copy of PROGRAM in FOLDER that uses the dynamic linker and
# the libraries of the folder LIBRARIES, because later drivers need a later libc than the machine has. The copy, unlike a
# program that is given to the dynamic linker, can also start itself again.
copy_with_libraries() {
  local program own copy
  program=$(command -v "$1") || fail "there is no program '$1'"
  command -v patchelf >/dev/null || fail "patchelf is missing; install the package patchelf"
  own=$(patchelf --print-rpath "$program" 2>/dev/null) || fail "'$program' is no program of this kind of machine that is linked dynamically"
  [[ $own != "$2:"* ]] || { echo "$program"; return; }  # It is such a copy.
  copy=$3/$(basename "$program")
  cp "$program" "$copy"
  patchelf --set-interpreter "$2/ld-linux-x86-64.so.2" --force-rpath --set-rpath "$2:${own:+$own:}/usr/lib/$multiarch" "$copy"
  echo "$copy"
}

# Prints a driver's manifest for the Vulkan loader.
driver_manifest() {
  [ -e "$1" ] || fail "the package mesa-vulkan-drivers holds no $(basename "$1")"
  printf '{"file_format_version": "1.0.1", "ICD": {"library_path": "%s", "api_version": "1.4.0"}}\n' "$1"
}
