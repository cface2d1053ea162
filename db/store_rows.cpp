#include "core/error.h"
#include "db/store_impl.h"
#include "db/tables/candidate_row.h"
#include "db/tables/device_row.h"
#include "db/tables/problem_row.h"

namespace rooftile {

RowId Store::device_id(const DeviceProfile& profile) {
  return impl_->guarded("storing a device",
                        [&] { return store_device(*impl_->connection, profile); });
}

std::optional<RowId> Store::find_device(const DeviceProfile& profile) const {
  return impl_->guarded("looking up a device",
                        [&] { return find_device_row(*impl_->connection, profile); });
}

bool Store::measured_here(RowId device) const {
  return impl_->guarded("looking for own measurements", [&] {
    Sql sql(*impl_->connection,
            "SELECT EXISTS (SELECT 1 FROM runs WHERE device_id = ?1 AND origin_id IS NULL)"
            " OR EXISTS (SELECT 1 FROM calibrations WHERE device_id = ?1 AND origin_id IS NULL)");
    return sql.bind(device).step() && sql.integer() != 0;
  });
}

std::vector<DeviceRecord> Store::devices() const {
  return impl_->guarded("listing the devices", [&] { return read_devices(*impl_->connection); });
}

RowId Store::candidate_id(const CandidateRecord& candidate) {
  return impl_->guarded("storing a candidate", [&] {
    Connection& connection = *impl_->connection;
    const std::optional<StoredCandidate> stored = find_candidate(connection, candidate.hash);
    if (!stored) return insert_candidate(connection, candidate);
    // The caller has generated this hash from its variant, so another variant in the row is wrong.
    if (!says_the_same(*stored, candidate)) correct_candidate(connection, stored->id, candidate);
    return stored->id;
  });
}

std::optional<CandidateRecord> Store::candidate(RowId id) const {
  return impl_->guarded("reading a candidate", [&]() -> std::optional<CandidateRecord> {
    Sql sql(*impl_->connection, "SELECT id, hash, signature, variant FROM candidates WHERE id = ?");
    if (!sql.bind(id).step()) return std::nullopt;
    CandidateRecord record{
        .id = sql.integer(), .hash = sql.text(), .signature = sql.text(), .variant = {}};
    const std::string variant = sql.text();
    try {
      record.variant = parse_variant(variant);
    } catch (const Error& error) {
      fail(ErrorCode::kDatabase,
           "candidate {} of {} cannot be read: {}; it was written by another version of Rooftile",
           id, path().string(), error.what());
    }
    return record;
  });
}

RowId Store::problem_id(const Problem& problem) {
  validate(problem);
  return impl_->guarded("storing a problem",
                        [&] { return store_problem(*impl_->connection, problem); });
}

std::optional<RowId> Store::find_problem(const Problem& problem) const {
  return impl_->guarded("looking for a problem",
                        [&] { return rooftile::find_problem(*impl_->connection, problem); });
}

std::optional<Problem> Store::problem(RowId id) const {
  return impl_->guarded("reading a problem", [&]() -> std::optional<Problem> {
    Sql sql(*impl_->connection, "SELECT " ROOFTILE_PROBLEM_COLUMNS " FROM problems WHERE id = ?");
    if (!sql.bind(id).step()) return std::nullopt;
    return read_problem(sql);
  });
}

}  // namespace rooftile
