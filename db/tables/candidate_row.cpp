#include "db/tables/candidate_row.h"

#include "core/error.h"
#include "db/tables/records_json.h"

namespace rooftile {

std::optional<StoredCandidate> find_candidate(Connection& connection, std::string_view hash) {
  Sql sql(connection, "SELECT id, signature, variant FROM candidates WHERE hash = ?");
  if (!sql.bind(hash).step()) return std::nullopt;
  return StoredCandidate{.id = sql.integer(), .signature = sql.text(), .variant = sql.text()};
}

bool says_the_same(const StoredCandidate& stored, const CandidateRecord& candidate) {
  if (stored.signature != candidate.signature) return false;
  if (stored.variant == to_string(candidate.variant)) return true;
  try {
    return parse_variant(stored.variant) == candidate.variant;
  } catch (const Error&) {
    return false;
  }
}

RowId insert_candidate(Connection& connection, const CandidateRecord& candidate) {
  Sql(connection,
      "INSERT INTO candidates (hash, signature, family, parameters, variant) VALUES (?, ?, ?, ?, "
      "?)"
      " ON CONFLICT (hash) DO NOTHING")
      .bind_all(candidate.hash, candidate.signature, name(candidate.variant.family),
                parameters_json(candidate.variant), to_string(candidate.variant))
      .run();
  return find_candidate(connection, candidate.hash).value().id;
}

void correct_candidate(Connection& connection, RowId id, const CandidateRecord& candidate) {
  Sql(connection,
      "UPDATE candidates SET signature = ?, family = ?, parameters = ?, variant = ? WHERE id = ?")
      .bind_all(candidate.signature, name(candidate.variant.family),
                parameters_json(candidate.variant), to_string(candidate.variant), id)
      .run();
}

}  // namespace rooftile
