# cmake -DNM=nm -DLIBRARY=libopenblas.so.0 "-DOWN=sgemm_;..." -DOUTPUT=forwards.inc -P BlasForwards.cmake
# Writes FORWARD(index, symbol) for the functions of a BLAS library that programs may call, except for OWN: Fortran
# names (with a final _), CBLAS, and OpenBLAS' own functions. Other symbols are internal to the library.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${NM} -D --defined-only --format=posix ${LIBRARY}
  OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${table}")
set(text "")
set(index 0)
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^(cblas_[a-z0-9_]+|[a-z][a-z0-9_]*_|openblas_[gs]et_?[a-z_]+|goto_set_num_threads) [TWi] ")
    continue()
  endif()
  set(symbol ${CMAKE_MATCH_1})
  if(symbol IN_LIST OWN OR symbol STREQUAL "blas_thread_shutdown_")
    continue()
  endif()
  string(APPEND text "FORWARD(${index}, ${symbol})\n")
  math(EXPR index "${index} + 1")
endforeach()
if(index LESS 300)
  message(FATAL_ERROR "${LIBRARY} has ${index} symbols of BLAS, which is not all of it; install libopenblas0-pthread")
endif()
file(WRITE ${OUTPUT} "${text}")
