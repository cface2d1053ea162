// Copies the rows of an attached foreign file (foreign_file.h) into this database. Internal to db/.
#pragma once

#include "db/sqlite/connection.h"
#include "db/tables/records.h"

namespace rooftile {

/// Adds the rows of `theirs` that are new, inside the open transaction. It changes nothing that was
/// measured, certified or black-listed on this machine. file is the name for messages and for the
/// log. Throws kDatabase for values that no Rooftile writes; the caller then undoes everything.
ImportReport import_rows(Connection& connection, const std::string& file);

}  // namespace rooftile
