// A problem's fields as columns, in the order in which every statement names them. Inside db/ only.
#pragma once

#include "db/connection.h"
#include "db/records.h"

namespace rooftile {

/// Binds, or reads, type, trans_a, trans_b, m, n, k, batch, lda, ldb, ldc, alpha, beta.
void bind_problem(Sql& sql, const Problem& problem);
Problem read_problem(Sql& sql);

std::optional<RowId> find_problem(Connection& connection, const Problem& problem);
/// Row of this very problem, inserted when new.
RowId store_problem(Connection& connection, const Problem& problem);

}  // namespace rooftile
