#include "db/store_impl.h"

namespace rooftile {

void Store::put_outcome(RowId device, const OutcomeRecord& record) {
  impl_->guarded("storing how certain a winner is", [&] {
    Sql(*impl_->connection,
        "INSERT OR REPLACE INTO outcomes (device_id, problem_id, candidate_id, verdict, "
        "confidence, tried, default_candidate_id, default_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
        .bind_all(device, record.problem, record.candidate, name(record.verdict), record.confidence,
                  record.tried, record.default_candidate, record.default_ns)
        .run();
  });
}

std::optional<OutcomeRecord> Store::outcome(RowId device, RowId problem) const {
  return impl_->guarded("reading how certain a winner is", [&]() -> std::optional<OutcomeRecord> {
    Sql sql(*impl_->connection,
            "SELECT candidate_id, verdict, confidence, tried, default_ns, default_candidate_id"
            " FROM outcomes WHERE device_id = ? AND problem_id = ?");
    if (!sql.bind_all(device, problem).next_row()) return std::nullopt;
    OutcomeRecord record{.problem = problem, .candidate = sql.integer()};
    record.verdict = parse_outcome_verdict(sql.text());
    record.confidence = sql.optional_real();
    record.tried = static_cast<std::size_t>(sql.integer());
    record.default_ns = sql.optional_real();
    if (!sql.null()) record.default_candidate = sql.integer();
    return record;
  });
}

}  // namespace rooftile
