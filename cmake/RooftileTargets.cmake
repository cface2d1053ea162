# Each folder is one target. docs/architecture.md lists its allowed links, and tests/architecture checks them.

add_library(rooftile_options INTERFACE)
target_compile_options(rooftile_options INTERFACE -Wall -Wextra -Wshadow
  # g++ then collects garbage rarely: a sixth less time for a fifth more memory, up to 0.9 GB a compiler.
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=524288>
  # Designated initialisers omit members on purpose; those keep their defaults.
  -Wno-missing-field-initializers
  # With GCC 12's library std::stable_sort itself uses what is deprecated, and Clang blames its caller.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
  # GCC 12 reports false warnings in std::string's own operator+ (gcc.gnu.org/bugzilla 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict> $<$<BOOL:${ROOFTILE_WERROR}>:-Werror>)
if(ROOFTILE_SANITIZE)
  # Without this option, undefined behaviour is only printed and no test fails.
  # Sanitized code hides from GCC 12 that moved values were initialised: std::regex alone gives that warning.
  target_compile_options(rooftile_options INTERFACE -fsanitize=${ROOFTILE_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(rooftile_options INTERFACE -fsanitize=${ROOFTILE_SANITIZE})
endif()

# rooftile_layer(name SOURCES a.cpp ... LINKS rooftile::core ...): static library rooftile_<name>, alias rooftile::<name>.
function(rooftile_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(rooftile_${name} STATIC ${ARG_SOURCES})
  add_library(rooftile::${name} ALIAS rooftile_${name})
  target_include_directories(rooftile_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(rooftile_${name} PUBLIC ${ARG_LINKS} PRIVATE rooftile_options ${ARG_PRIVATE_LINKS})
  rooftile_unity(rooftile_${name})
endfunction()

# rooftile_unity(target): compiles the sources of a target in groups (ROOFTILE_UNITY).
function(rooftile_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${ROOFTILE_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  if(ROOFTILE_UNITY)
    # g++ takes the sources of a group for headers, in which such members would be a mistake.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# rooftile_without_cache(target): compiles it without ccache. A precompiled header is compiled again in each clone, and what uses it
# would be hashed with its 140 MB, a third of the time that compiling takes.
function(rooftile_without_cache target)
  set_target_properties(${target} PROPERTIES C_COMPILER_LAUNCHER "" CXX_COMPILER_LAUNCHER "")
endfunction()

# rooftile_run_once(target): its code runs once a command and computes little; it compiles in two thirds of the time without -O3.
function(rooftile_run_once target)
  # g++ then follows less of it, and takes members of empty optionals for uninitialized.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>
    $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized>)
endfunction()

# rooftile_embed(target FUNCTION name [ROOT folder] FILES ...): adds a source that defines rooftile::<name>(), see
# core/embedded_text.h. Texts are named by their path below ROOT, or by their file name without ROOT.
function(rooftile_embed target)
  cmake_parse_arguments(ARG "" "FUNCTION;ROOT" "FILES" ${ARGN})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${ARG_FUNCTION}.cpp)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DNAMESPACE_FUNCTION=${ARG_FUNCTION} -DROOT=${ARG_ROOT}
            "-DFILES=${ARG_FILES}" -P ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake
    DEPENDS ${ARG_FILES} ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
