# Measured devices: every database of bench/results/ lies unpacked beside program and library, which find it there
# (runtime/tuned/shipped_devices.cpp). ROOFTILE_DEVICES is the list of the files.
find_program(ROOFTILE_XZ xz REQUIRED)
function(rooftile_unpack_devices folder)
  file(GLOB measured CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/results/*.db.xz)
  set(devices)
  foreach(packed IN LISTS measured)
    get_filename_component(name ${packed} NAME_WLE)
    add_custom_command(OUTPUT ${folder}/${name} DEPENDS ${packed}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${folder} COMMAND ${ROOFTILE_XZ} -dc ${packed} > ${folder}/${name} VERBATIM)
    list(APPEND devices ${folder}/${name})
  endforeach()
  file(GLOB others ${folder}/*)
  list(REMOVE_ITEM others ${devices})
  foreach(other IN LISTS others)  # Those of earlier sources.
    file(REMOVE ${other})
  endforeach()
  add_custom_target(rooftile_devices DEPENDS ${devices})
  set(ROOFTILE_DEVICES ${devices} PARENT_SCOPE)
endfunction()
rooftile_unpack_devices(${PROJECT_BINARY_DIR}/share/rooftile/devices)
