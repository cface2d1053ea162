# All dependencies come from the distribution's packages, which scripts/build installs (scripts/packages lists them).
# The tests find their own further dependencies (scripts/packages-test).

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(SQLiteCpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)

# Debian 12's libshaderc.so has unresolved glslang symbols, and its combined static library crashes unless every library
# of glslang is linked explicitly. This order links and runs.
# glslang 15 of Debian 13 has two of them no more.
find_library(ROOFTILE_OGLCOMPILER OGLCompiler)
find_library(ROOFTILE_HLSL HLSL)
mark_as_advanced(ROOFTILE_OGLCOMPILER ROOFTILE_HLSL)
add_library(rooftile_shaderc INTERFACE)
target_link_libraries(rooftile_shaderc INTERFACE
  shaderc_combined glslang MachineIndependent GenericCodeGen OSDependent
  $<$<BOOL:${ROOFTILE_OGLCOMPILER}>:OGLCompiler> $<$<BOOL:${ROOFTILE_HLSL}>:HLSL> SPIRV SPIRV-Tools-opt SPIRV-Tools
  Threads::Threads)

# Charts of `rooftile report --html`, embedded into the program.
find_file(ROOFTILE_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js NO_DEFAULT_PATH REQUIRED)
