#include "db/tables/problem_row.h"

#include <optional>

namespace rooftile {
namespace {

std::string text(Transpose transpose) { return std::string(1, letter(transpose)); }

// The CHECKs of the tables admit only 'n' and 't'.
Transpose parse_transpose(const std::string& text) {
  return text == "t" ? Transpose::kYes : Transpose::kNo;
}

}  // namespace

void bind_problem(Sql& sql, const Problem& p) {
  sql.bind_all(to_string(p.types), text(p.trans_a), text(p.trans_b), p.m, p.n, p.k, p.batch, p.lda,
               p.ldb, p.ldc, p.stride_a, p.stride_b, p.stride_c, to_string(p.epilogue), p.alpha,
               p.beta, p.grouping.experts, p.grouping.groups, p.grouping.largest);
}

Problem read_problem(Sql& sql) {
  Problem p;
  p.types = parse_types(sql.text());
  p.trans_a = parse_transpose(sql.text());
  p.trans_b = parse_transpose(sql.text());
  p.m = sql.integer();
  p.n = sql.integer();
  p.k = sql.integer();
  p.batch = sql.integer();
  p.lda = sql.integer();
  p.ldb = sql.integer();
  p.ldc = sql.integer();
  p.stride_a = sql.integer();
  p.stride_b = sql.integer();
  p.stride_c = sql.integer();
  p.epilogue = parse_epilogue(sql.text());
  p.alpha = scalar_of(p.types, sql.real());
  p.beta = scalar_of(p.types, sql.real());
  p.grouping.experts = sql.integer();
  p.grouping.groups = sql.integer();
  p.grouping.largest = sql.integer();
  return p;
}

std::optional<RowId> find_problem(Connection& connection, const Problem& problem) {
  Sql sql(connection, "SELECT id FROM problems WHERE (" ROOFTILE_PROBLEM_COLUMNS
                      ") = (" ROOFTILE_PROBLEM_VALUES ")");
  bind_problem(sql, problem);
  if (sql.step()) return sql.integer();
  return std::nullopt;
}

RowId store_problem(Connection& connection, const Problem& problem) {
  if (const std::optional<RowId> id = find_problem(connection, problem)) return *id;
  Sql insert(connection, "INSERT INTO problems (" ROOFTILE_PROBLEM_COLUMNS
                         ", bucket) VALUES (" ROOFTILE_PROBLEM_VALUES
                         ", ?) ON CONFLICT (" ROOFTILE_PROBLEM_COLUMNS ") DO NOTHING");
  bind_problem(insert, problem);
  insert.bind(to_string(bucket_of(problem))).run();
  return find_problem(connection, problem).value();
}

}  // namespace rooftile
