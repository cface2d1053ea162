# cmake --install: runtime, headers, command line, CMake package and pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Components are what the Debian packages are made of (RooftilePackage.cmake).
install(TARGETS rooftile rooftile_blas EXPORT RooftileTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
# Not where linkers and loaders look: update-alternatives and `rooftile run` name them.
install(TARGETS rooftile_blas3 rooftile_preload
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/rooftile COMPONENT runtime NAMELINK_SKIP)
install(TARGETS rooftile_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rooftile DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Rooftile)
install(EXPORT RooftileTargets NAMESPACE Rooftile:: DESTINATION ${package} COMPONENT development)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/RooftileConfigVersion.cmake COMPATIBILITY SameMinorVersion)
file(WRITE ${PROJECT_BINARY_DIR}/RooftileConfig.cmake
  "include(\${CMAKE_CURRENT_LIST_DIR}/RooftileTargets.cmake)\n")
install(FILES ${PROJECT_BINARY_DIR}/RooftileConfig.cmake ${PROJECT_BINARY_DIR}/RooftileConfigVersion.cmake
  DESTINATION ${package} COMPONENT development)

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
file(WRITE ${PROJECT_BINARY_DIR}/rooftile-blas.pc
"prefix=\${pcfiledir}/../..
libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}

Name: rooftile-blas
Description: BLAS and LAPACK symbols, with Rooftile's matrix products
Version: ${PROJECT_VERSION}
Libs: -L\${libdir} -lrooftile_blas
")
install(FILES ${PROJECT_BINARY_DIR}/rooftile.pc ${PROJECT_BINARY_DIR}/rooftile-blas.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
