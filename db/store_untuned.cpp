#include "db/store_impl.h"
#include "db/tables/problem_row.h"

namespace rooftile {

void Store::log_untuned(RowId device, const Problem& problem, std::int64_t calls) {
  validate(problem);
  // alpha and beta are reduced to what the kernel depends on, so that a program which steps alpha
  // through a thousand values adds one row.
  Problem kernel_problem = problem;
  kernel_problem.alpha = 1.0f;
  kernel_problem.beta = problem.beta == 0.0f ? 0.0f : 1.0f;

  impl_->guarded("logging an untuned problem", [&] {
    Connection& connection = *impl_->connection;
    Atomically atomically(connection);
    Sql upsert(
        connection,
        "INSERT INTO untuned_problems (" ROOFTILE_PROBLEM_COLUMNS
        ", bucket, device_id, calls) VALUES (" ROOFTILE_PROBLEM_VALUES
        ", ?, ?, ?) ON CONFLICT (" ROOFTILE_PROBLEM_COLUMNS
        ", device_id)"
        " DO UPDATE SET calls = calls + excluded.calls, seen_at = excluded.seen_at RETURNING id");
    bind_problem(upsert, kernel_problem);
    upsert.bind_all(to_string(bucket_of(kernel_problem)), device, calls).step();
    const RowId row = upsert.integer();
    while (upsert.step()) {
    }
    // The row of this call is kept, as otherwise a full table would never accept a new problem.
    constexpr std::int64_t kMaxRows = 4096;
    Sql(connection,
        "DELETE FROM untuned_problems WHERE id IN (SELECT id FROM untuned_problems WHERE id <> ?"
        " ORDER BY calls, seen_at LIMIT max(0, (SELECT count(*) FROM untuned_problems) - ?))")
        .bind_all(row, kMaxRows)
        .run();
    atomically.commit();
  });
}

std::vector<UntunedProblem> Store::untuned_problems(RowId device) const {
  return impl_->guarded("reading the untuned problems", [&] {
    std::vector<UntunedProblem> problems;
    Sql sql(*impl_->connection, "SELECT " ROOFTILE_PROBLEM_COLUMNS
                                ", calls, created_at, seen_at FROM untuned_problems WHERE "
                                "device_id = ? ORDER BY calls DESC, seen_at DESC, id");
    sql.bind(device);
    while (sql.next_row()) {
      UntunedProblem& untuned = problems.emplace_back();
      untuned.problem = read_problem(sql);
      untuned.calls = sql.integer();
      untuned.created_at = sql.text();
      untuned.seen_at = sql.text();
    }
    return problems;
  });
}

}  // namespace rooftile
