# Run when a test program has been linked: writes FILE, by which ctest runs each suite of PROGRAM in one process. Variables: also
# EMULATOR, which starts the program where that is set, FOLDER, in which it runs, LABEL and TIMEOUT.
execute_process(COMMAND ${EMULATOR} ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE failure TIMEOUT 60)
if(failure)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests: ${failure}\n${listed}")
endif()
# A suite's name begins a line and ends with a dot; names of its tests are indented.
string(REGEX MATCHALL "\n[A-Za-z][A-Za-z0-9_/]*\\." suites "\n${listed}")
string(JOIN "]=] [=[" start ${EMULATOR} ${PROGRAM})
# What ctest calls skipped it does not call failed: nothing may follow a list of skipped tests, and none may have passed.
set(skipped "PASSED  \\] 0 tests\\.\n\\[  SKIPPED \\] [0-9]+ tests?, listed below:\n(\\[  SKIPPED \\] [^\n]*\n)+$")
set(text "")
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "[\n.]" "" suite "${suite}")
  string(APPEND text "add_test([=[${suite}]=] [=[${start}]=] [=[--gtest_filter=${suite}.*]=])\n"
    "set_tests_properties([=[${suite}]=] PROPERTIES LABELS ${LABEL} TIMEOUT ${TIMEOUT} WORKING_DIRECTORY [=[${FOLDER}]=]\n"
    "  SKIP_REGULAR_EXPRESSION [==[${skipped}]==])\n")
endforeach()
file(WRITE ${FILE} "${text}")
