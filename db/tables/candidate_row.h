// Rows of the candidates table, which the hash of the kernel identifies. Internal to db/.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "db/sqlite/connection.h"
#include "db/tables/records.h"

namespace rooftile {

struct StoredCandidate {
  RowId id = 0;
  std::string signature, variant;  // as stored, whether this version can parse them or not
};
std::optional<StoredCandidate> find_candidate(Connection& connection, std::string_view hash);
/// Whether both describe the same kernel. The texts may differ, because a later version writes
/// parameters that an earlier one did not have.
bool says_the_same(const StoredCandidate& stored, const CandidateRecord& candidate);

/// Returns the row's id, also when another process has inserted it first.
RowId insert_candidate(Connection& connection, const CandidateRecord& candidate);
void correct_candidate(Connection& connection, RowId id, const CandidateRecord& candidate);

}  // namespace rooftile
