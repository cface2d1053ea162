# cmake --install: runtime, headers, command line, CMake package and pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS rooftile EXPORT RooftileTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS rooftile_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rooftile DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Rooftile)
install(EXPORT RooftileTargets NAMESPACE Rooftile:: DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/RooftileConfigVersion.cmake COMPATIBILITY SameMinorVersion)
file(WRITE ${PROJECT_BINARY_DIR}/RooftileConfig.cmake
  "include(\${CMAKE_CURRENT_LIST_DIR}/RooftileTargets.cmake)\n")
install(FILES ${PROJECT_BINARY_DIR}/RooftileConfig.cmake ${PROJECT_BINARY_DIR}/RooftileConfigVersion.cmake
  DESTINATION ${package})

# The prefix is where the file lies, so that an installed tree can be moved.
file(WRITE ${PROJECT_BINARY_DIR}/rooftile.pc
"prefix=\${pcfiledir}/../..
libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}

Name: rooftile
Description: ${PROJECT_DESCRIPTION}
Version: ${PROJECT_VERSION}
Cflags: -I\${includedir}
Libs: -L\${libdir} -lrooftile
")
install(FILES ${PROJECT_BINARY_DIR}/rooftile.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
