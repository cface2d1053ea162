# Measured devices: every database of bench/results/ lies unpacked beside program and library, and is
# installed with the library (runtime/tuned/shipped_devices.cpp finds them).
file(GLOB measured CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/results/*.db.xz)
find_program(ROOFTILE_XZ xz REQUIRED)
set(devices_folder ${PROJECT_BINARY_DIR}/share/rooftile/devices)
set(ROOFTILE_DEVICES)
foreach(packed IN LISTS measured)
  get_filename_component(name ${packed} NAME_WLE)
  add_custom_command(OUTPUT ${devices_folder}/${name} DEPENDS ${packed}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${devices_folder} COMMAND ${ROOFTILE_XZ} -dc ${packed} > ${devices_folder}/${name} VERBATIM)
  list(APPEND ROOFTILE_DEVICES ${devices_folder}/${name})
endforeach()
file(GLOB others ${devices_folder}/*)
list(REMOVE_ITEM others ${ROOFTILE_DEVICES})
foreach(other IN LISTS others)  # Those of earlier sources.
  file(REMOVE ${other})
endforeach()
add_custom_target(rooftile_devices DEPENDS ${ROOFTILE_DEVICES})
