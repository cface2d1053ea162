# cmake --install: runtime, headers, command line, CMake package, pkg-config file and examples.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

write_basic_package_version_file(${PROJECT_BINARY_DIR}/RooftileConfigVersion.cmake COMPATIBILITY SameMinorVersion)
file(WRITE ${PROJECT_BINARY_DIR}/RooftileConfig.cmake
  "include(\${CMAKE_CURRENT_LIST_DIR}/RooftileTargets.cmake)\n")

# rooftile_install_libraries(libdir prefix package [EXCLUDE_FROM_ALL]): installs the libraries, and the files that
# contain their folder's name, as the components <prefix>runtime and <prefix>development. The examples go to the
# documentation folder of <package>.
function(rooftile_install_libraries libdir prefix package)
  install(TARGETS rooftile rooftile_blas EXPORT ${prefix}RooftileTargets
    LIBRARY DESTINATION ${libdir} COMPONENT ${prefix}runtime NAMELINK_COMPONENT ${prefix}development ${ARGN})
  # Outside of the folders that linkers and loaders search: update-alternatives and `rooftile run` use its full path.
  install(TARGETS rooftile_blas3 rooftile_preload
    LIBRARY DESTINATION ${libdir}/rooftile COMPONENT ${prefix}runtime NAMELINK_SKIP ${ARGN})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rooftile DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    COMPONENT ${prefix}development ${ARGN})

  install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}
    COMPONENT ${prefix}development ${ARGN} USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE PATTERN gemm_kernels.h EXCLUDE)

  install(EXPORT ${prefix}RooftileTargets FILE RooftileTargets.cmake NAMESPACE Rooftile:: DESTINATION ${libdir}/cmake/Rooftile
    COMPONENT ${prefix}development ${ARGN})
  install(FILES ${PROJECT_BINARY_DIR}/RooftileConfig.cmake ${PROJECT_BINARY_DIR}/RooftileConfigVersion.cmake
    DESTINATION ${libdir}/cmake/Rooftile COMPONENT ${prefix}development ${ARGN})

  # The prefix is derived from the file's own location, so that an installed tree can be moved.
  string(REGEX REPLACE "[^/]+" ".." up ${libdir}/pkgconfig)
  set(pkgconfig ${PROJECT_BINARY_DIR}/${prefix}pkgconfig)
  file(WRITE ${pkgconfig}/rooftile.pc
"prefix=\${pcfiledir}/${up}
libdir=\${prefix}/${libdir}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}

Name: rooftile
Description: ${PROJECT_DESCRIPTION}
Version: ${PROJECT_VERSION}
Cflags: -I\${includedir}
Libs: -L\${libdir} -lrooftile
")
  file(WRITE ${pkgconfig}/rooftile-blas.pc
"prefix=\${pcfiledir}/${up}
libdir=\${prefix}/${libdir}

Name: rooftile-blas
Description: BLAS and LAPACK symbols, with Rooftile's matrix products
Version: ${PROJECT_VERSION}
Libs: -L\${libdir} -lrooftile_blas
")
  install(FILES ${pkgconfig}/rooftile.pc ${pkgconfig}/rooftile-blas.pc DESTINATION ${libdir}/pkgconfig
    COMPONENT ${prefix}development ${ARGN})
endfunction()

rooftile_install_libraries(${CMAKE_INSTALL_LIBDIR} "" rooftile)
install(TARGETS rooftile_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
install(FILES ${ROOFTILE_DEVICES} DESTINATION ${CMAKE_INSTALL_DATADIR}/rooftile/devices COMPONENT tools)
# Where Debian's Python looks. It finds the library of its own prefix (python/rooftile/_library.py).
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/rooftile DESTINATION lib/python3/dist-packages COMPONENT python
  PATTERN __pycache__ EXCLUDE PATTERN .mypy_cache EXCLUDE)
