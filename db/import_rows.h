// The rows of an attached foreign file (db/foreign_file.h) into ours. Inside db/ only.
#pragma once

#include "db/connection.h"
#include "db/records.h"

namespace rooftile {

/// Adds what is new of `theirs`, inside the transaction that is open. Nothing of it touches what
/// was measured, certified or black-listed here. file: name for messages and for the log. kDatabase
/// for values that no Rooftile writes; the caller then undoes everything.
ImportReport import_rows(Connection& connection, const std::string& file);

}  // namespace rooftile
