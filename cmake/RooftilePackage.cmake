# Debian packages, made by cpack --config build/CPackConfig.cmake. Each component is one package: librooftile0
# (debian_runtime), librooftile-dev (debian_development), rooftile (tools), python3-rooftile (python).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rooftile)
set(CPACK_PACKAGE_VENDOR Rooftile)
set(CPACK_PACKAGE_CONTACT "Rooftile maintainers <maintainers@rooftile.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL debian_runtime debian_development tools python)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# Debian packages install libraries into the architecture's folder; `cmake --install` uses the folder of its prefix.
set(triplet ${CMAKE_LIBRARY_ARCHITECTURE})
rooftile_install_libraries(lib/${triplet} debian_ librooftile-dev EXCLUDE_FROM_ALL)

set(soversion ${PROJECT_VERSION_MAJOR})
set(library librooftile${soversion})
set(libdir /usr/lib/${triplet})
foreach(file postinst prerm shlibs)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/debian/${file}.in ${PROJECT_BINARY_DIR}/debian/${file} @ONLY)
endforeach()
set(CPACK_DEBIAN_DEBIAN_RUNTIME_PACKAGE_NAME ${library})
set(CPACK_DEBIAN_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
# These libraries are loaded at run time, so dpkg-shlibdeps does not find them.
set(CPACK_DEBIAN_DEBIAN_RUNTIME_PACKAGE_DEPENDS "libblas3 | libblas.so.3")
set(CPACK_DEBIAN_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS "libopenblas0, libvulkan1, mesa-vulkan-drivers | vulkan-icd")
# No postrm exists. Naming one keeps CPack from generating one that calls ldconfig, which the trigger already does.
set(CPACK_DEBIAN_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA
  ${PROJECT_BINARY_DIR}/debian/postinst ${PROJECT_BINARY_DIR}/debian/prerm ${PROJECT_BINARY_DIR}/debian/shlibs
  ${CMAKE_CURRENT_LIST_DIR}/debian/triggers ${PROJECT_BINARY_DIR}/debian/postrm)
set(CPACK_COMPONENT_DEBIAN_RUNTIME_DESCRIPTION
  "Tuned matrix products on Vulkan devices: runtime library
Sends each product to the tier that is predicted to be fastest: a kernel
that was tuned for this device, or the BLAS of this machine on all threads
or on one. For programs that call BLAS it is one of the providers of
libblas.so.3.")

set(CPACK_DEBIAN_DEBIAN_DEVELOPMENT_PACKAGE_NAME librooftile-dev)
set(CPACK_DEBIAN_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library} (= ${PROJECT_VERSION})")
# Dependencies of rooftile/vulkan.h and of the examples.
set(CPACK_DEBIAN_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libvulkan-dev, cmake, python3-numpy")
set(CPACK_COMPONENT_DEBIAN_DEVELOPMENT_DESCRIPTION
  "Tuned matrix products on Vulkan devices: headers
C and C++ headers, the CMake package, the pkg-config file and examples of
Rooftile's runtime.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME rooftile)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
# `rooftile run` preloads this library.
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${library} (= ${PROJECT_VERSION}), libblas3 | libblas.so.3")
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "libopenblas0, libvulkan1, mesa-vulkan-drivers | vulkan-icd")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION
  "Tuned matrix products on Vulkan devices: tuner and reports
Calibrates and tunes this machine's devices, keeps the certified winners in
a database, and reports from it.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-rooftile)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.9), ${library} (>= ${PROJECT_VERSION})")
# Tuning, reports and quantising start the program.
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "python3-numpy, rooftile")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
  ${CMAKE_CURRENT_LIST_DIR}/debian/python/postinst ${CMAKE_CURRENT_LIST_DIR}/debian/python/prerm)
set(CPACK_COMPONENT_PYTHON_DESCRIPTION
  "Tuned matrix products on Vulkan devices: Python package
The package rooftile: products of NumPy arrays, PyTorch's tensors and memory
maps, on whatever is fastest on this machine.")

# Debian policy 12.5 requires each package's licence, and 12.7 its change log.
set(package_debian_runtime ${library})
set(package_debian_development librooftile-dev)
set(package_tools rooftile)
set(package_python python3-rooftile)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # from $SOURCE_DATE_EPOCH if it is set
configure_file(${CMAKE_CURRENT_LIST_DIR}/debian/changelog.in ${PROJECT_BINARY_DIR}/debian/changelog @ONLY)
execute_process(COMMAND gzip -9n -c INPUT_FILE ${PROJECT_BINARY_DIR}/debian/changelog
  OUTPUT_FILE ${PROJECT_BINARY_DIR}/debian/changelog.gz COMMAND_ERROR_IS_FATAL ANY)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/debian/copyright ${PROJECT_BINARY_DIR}/debian/changelog.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package_${component}} COMPONENT ${component})
endforeach()
# Libraries and command line contain third-party code, so its licences are installed with them.
file(STRINGS ${PROJECT_SOURCE_DIR}/scripts/packages-built-in built_in REGEX "^[^#]")
foreach(package IN LISTS built_in)
  foreach(component debian_runtime tools)
    install(FILES /usr/share/doc/${package}/copyright RENAME ${package}.txt
      DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package_${component}}/licences COMPONENT ${component}
      EXCLUDE_FROM_ALL)
  endforeach()
endforeach()
# The documents, and every page and table that they link to.
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/CONTRIBUTING.md
  ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/rooftile COMPONENT tools)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/rooftile COMPONENT tools)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/bench/results ${PROJECT_SOURCE_DIR}/bench/notes
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/rooftile/bench COMPONENT tools)
include(CPack)
