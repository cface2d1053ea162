// The fields of a problem as columns, in the order in which every statement names them. Internal to
// db/.
#pragma once

#include "db/sqlite/connection.h"
#include "db/tables/records.h"

namespace rooftile {

/// The columns that bind_problem() and read_problem() know, and a parameter for each. Macros,
/// because a statement is one literal (class Sql). No other table that is joined has columns of
/// these names.
#define ROOFTILE_PROBLEM_COLUMNS                                                         \
  "type, trans_a, trans_b, m, n, k, batch, lda, ldb, ldc, stride_a, stride_b, stride_c," \
  " epilogue, alpha, beta, experts, groups, largest"
#define ROOFTILE_PROBLEM_VALUES "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"

void bind_problem(Sql& sql, const Problem& problem);
Problem read_problem(Sql& sql);

std::optional<RowId> find_problem(Connection& connection, const Problem& problem);
/// The row of this problem, inserted when new.
RowId store_problem(Connection& connection, const Problem& problem);

}  // namespace rooftile
