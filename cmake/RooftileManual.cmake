# The manual's pages, which the program writes from its own definitions, and the scripts with which shells complete its words.
set(pages ${PROJECT_BINARY_DIR}/man)
set(cross_without_emulator FALSE)
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  set(cross_without_emulator TRUE)
  message(STATUS "No manual: this machine cannot run the program that writes it; CMAKE_CROSSCOMPILING_EMULATOR names one that can.")
endif()
if(NOT cross_without_emulator)
  # The folder begins empty, so that no page of a command that is gone remains. Debian policy 12.1 has pages compressed.
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/man.stamp
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${pages}
    COMMAND rooftile_cli manual ${pages}
    COMMAND find ${pages} -name "*.1" -exec gzip -9n {} +
    COMMAND ${CMAKE_COMMAND} -E touch ${PROJECT_BINARY_DIR}/man.stamp
    DEPENDS rooftile_cli COMMENT "Writing the manual's pages" VERBATIM)
  add_custom_target(rooftile_manual ALL DEPENDS ${PROJECT_BINARY_DIR}/man.stamp)
  install(DIRECTORY ${pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools OPTIONAL)
endif()

set(scripts ${PROJECT_SOURCE_DIR}/cli/completion)
install(FILES ${scripts}/rooftile.bash RENAME rooftile
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tools)
# zsh itself looks into site-functions, Debian's zsh into vendor-completions.
foreach(folder zsh/site-functions zsh/vendor-completions)
  install(FILES ${scripts}/_rooftile DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} COMPONENT tools)
endforeach()
install(FILES ${scripts}/rooftile.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT tools)
