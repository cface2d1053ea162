#!/usr/bin/env bash
# What scripts/gpu-compilers and scripts/newer-lavapipe say where they cannot run a program.   script_test.sh SOURCE_DIR
set -euo pipefail
scripts=$1/scripts
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export ROOFTILE_GPU_COMPILERS=$scratch/none ROOFTILE_LAVAPIPE=$scratch/none

# expect CODE TEXT COMMAND...: runs the command, and expects its exit code and this text in its output.
expect() {
  local code=0 said
  said=$("${@:3}" 2>&1) || code=$?
  [ "$code" = "$1" ] || { echo "${*:3}: exit code $code, not $1: $said" >&2; exit 1; }
  [[ $said == *"$2"* ]] || { echo "${*:3}: '$said' does not say '$2'" >&2; exit 1; }
}

expect 77 "not set up in $scratch/none: scripts/gpu-compilers setup" "$scripts/gpu-compilers" run NAVI31 true
expect 77 "not set up in $scratch/none: scripts/gpu-compilers setup" "$scripts/gpu-compilers" kept
expect 77 "not set up in $scratch/none: scripts/newer-lavapipe setup" "$scripts/newer-lavapipe" run true
expect 1 "there is no GPU 'NAVI99'; known: NAVI10" "$scripts/gpu-compilers" run NAVI99 true
expect 1 "run needs a GPU and a program" "$scripts/gpu-compilers" run NAVI31
expect 1 "copy needs a GPU, a program and a folder" "$scripts/gpu-compilers" copy NAVI31 true
expect 2 "gpu-compilers setup" "$scripts/gpu-compilers"
expect 2 "newer-lavapipe setup" "$scripts/newer-lavapipe" start
expect 0 "scripts/gpu-compilers run GPU PROGRAM" "$scripts/gpu-compilers" --help
expect 0 "NVIDIA 162 172" "$scripts/gpu-compilers" list
[ ! -e "$scratch/none" ] || { echo "a script that is not set up has made its folder" >&2; exit 1; }

# Interrupted downloads leave nothing that looks complete: what is there whole is kept, the rest is fetched again.
mkdir -p "$scratch/half/mesa.part" "$scratch/bin" "$scratch/half/mesa"
printf '#!/bin/sh\necho "no network" >&2\nexit 100\n' >"$scratch/bin/apt-get"
printf '#!/bin/sh\nsed "s/#.*//; /^$/d; s/^/installed /" "%s"\n' "$scripts/packages-gpu-compilers" >"$scratch/bin/dpkg-query"
chmod +x "$scratch"/bin/*
expect 1 "no Debian mirror" env "PATH=$scratch/bin:$PATH" "ROOFTILE_GPU_COMPILERS=$scratch/half" "$scripts/gpu-compilers" setup
[ ! -e "$scratch/half/ready" ] || { echo "a setup that failed counts as done" >&2; exit 1; }

# A program that is set up but missing, or is none.
touch "$scratch/half/ready"
export ROOFTILE_GPU_COMPILERS=$scratch/half
expect 1 "there is no program 'no-such-program'" "$scripts/gpu-compilers" run NAVI31 no-such-program
expect 1 "is no program of this kind of machine" "$scripts/gpu-compilers" run NAVI31 "$scripts/gpu-compilers"
