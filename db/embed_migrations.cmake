# cmake -DFOLDER=db/migrations -DOUTPUT=migrations.cpp -P embed_migrations.cmake
# Turns the numbered .sql files into the table that db/migrations.h declares. Numbers must run 1, 2, 3, ... without a gap:
# they are the schema's versions.
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*.sql)
list(SORT files)

set(table "")
set(version 0)
foreach(file IN LISTS files)
  math(EXPR version "${version} + 1")
  if(NOT file MATCHES "^([0-9][0-9][0-9][0-9])_[a-z0-9_]+\\.sql$")
    message(FATAL_ERROR "${FOLDER}/${file}: a migration is named like 0003_what_it_does.sql")
  endif()
  string(REGEX REPLACE "^0+" "" number "${CMAKE_MATCH_1}")
  if(NOT number STREQUAL version)
    message(FATAL_ERROR "${FOLDER}/${file}: the next migration's number is ${version}")
  endif()
  file(READ ${FOLDER}/${file} sql)
  string(APPEND table "    {${version}, \"${file}\", R\"migration(${sql})migration\"},\n")
endforeach()

file(WRITE ${OUTPUT} "// Made from db/migrations by db/embed_migrations.cmake.
#include \"db/migrations.h\"

namespace rooftile {

std::span<const Migration> migrations() {
  static constexpr Migration kMigrations[] = {
${table}  };
  return kMigrations;
}

}  // namespace rooftile
")
