# Debian packages: cpack --config build/CPackConfig.cmake. One a component: librooftile0 (runtime), librooftile-dev
# (development), rooftile (tools).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rooftile)
set(CPACK_PACKAGE_VENDOR Rooftile)
set(CPACK_PACKAGE_CONTACT "Rooftile maintainers <maintainers@rooftile.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime development tools)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)

set(library librooftile${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${library})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
# Loaded at run time, so no linker knows of them.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "libblas3 | libblas.so.3")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS "libopenblas0, libvulkan1, mesa-vulkan-drivers | vulkan-icd")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
  "Tuned matrix products on Vulkan devices: runtime library
Sends each product to the tier that is predicted to be fastest: a kernel that was tuned for this device, or the BLAS of this
machine on all threads or on one.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME librooftile-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library} (= ${PROJECT_VERSION})")
# For rooftile/vulkan.h.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS libvulkan-dev)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
  "Tuned matrix products on Vulkan devices: headers
C and C++ headers, the CMake package and the pkg-config file of Rooftile's runtime.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME rooftile)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "libblas3 | libblas.so.3")
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "libopenblas0, libvulkan1, mesa-vulkan-drivers | vulkan-icd")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION
  "Tuned matrix products on Vulkan devices: tuner and reports
Calibrates and tunes this machine's devices, keeps the certified winners in a database, and reports from it.")

# Policy 12.5: every package says under which terms it may be used; 12.7: and what changed.
foreach(pair "runtime ${library}" "development librooftile-dev" "tools rooftile")
  string(REPLACE " " ";" pair ${pair})
  list(GET pair 0 component)
  list(GET pair 1 package)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} RENAME copyright
    COMPONENT ${component})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/rooftile
  COMPONENT tools)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/rooftile/docs COMPONENT tools)
include(CPack)
