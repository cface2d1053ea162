// The fields of a problem as columns, in the order in which every statement names them. Internal to
// db/.
#pragma once

#include "db/sqlite/connection.h"
#include "db/tables/records.h"

namespace rooftile {

/// Binds, or reads, type, trans_a, trans_b, m, n, k, batch, lda, ldb, ldc, the strides, epilogue,
/// alpha, beta, experts, groups, largest.
void bind_problem(Sql& sql, const Problem& problem);
Problem read_problem(Sql& sql);

std::optional<RowId> find_problem(Connection& connection, const Problem& problem);
/// The row of this problem, inserted when new.
RowId store_problem(Connection& connection, const Problem& problem);

}  // namespace rooftile
