// A candidate's row, which the hash of its kernel identifies. Inside db/ only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "db/connection.h"
#include "db/records.h"

namespace rooftile {

struct StoredCandidate {
  RowId id = 0;
  std::string signature, variant;  // as they stand there, understood or not
};
std::optional<StoredCandidate> find_candidate(Connection& connection, std::string_view hash);
/// Spellings may differ: a later version writes parameters that an earlier one did not know.
bool says_the_same(const StoredCandidate& stored, const CandidateRecord& candidate);

/// The row's id, also when another process was faster.
RowId insert_candidate(Connection& connection, const CandidateRecord& candidate);
void correct_candidate(Connection& connection, RowId id, const CandidateRecord& candidate);

}  // namespace rooftile
