# shellcheck shell=bash
# To be sourced by scripts that compile, in the folder of the sources: where ccache is installed (scripts/packages-test lists it),
# what was compiled in any clone of these sources is not compiled again, but for tests (rooftile_without_cache). Users who set a
# launcher or ccache's variables themselves keep theirs. CMake takes the launchers when a build folder is first configured.
if folder=$(ccache --get-config cache_dir 2>/dev/null) && mkdir -p "$folder" 2>/dev/null && [ -w "$folder" ]; then
  export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER-ccache} CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
  export CCACHE_BASEDIR=${CCACHE_BASEDIR-$PWD}  # Paths in commands count from here on.
fi
