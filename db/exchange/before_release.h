// Databases of before 0.1.0, which `rooftile db import` takes until the release after it. Then go:
// these two files; `Owner::kBeforeRelease`, kIdBeforeRelease and kLastVersionBeforeRelease with
// their users; test_before_release.py and its database in tests/cli/,
// FileOfBeforeTheFirstRelease... in tests/db/opening_test.cpp, what tests/fuzz/database.cpp and its
// corpus have of them; the sections in docs/sharing.md and docs/database.md. Internal to db/.
#pragma once

#include <string>

#include "core/files/temporary_name.h"
#include "db/sqlite/connection.h"

namespace rooftile {

/// Copies all rows of such a file, which is not trusted, to a new database in the temporary folder,
/// with their ids. Of its schema it uses the names of tables and of their columns only, and the
/// copy is at most twice as large as the file. Returns what is wrong with the file, as it follows
/// its name, else "". Throws kIo where there is no place for the copy; SQLite::Exception.
std::string convert_before_release(const Connection& file, TemporaryName& copy);

}  // namespace rooftile
