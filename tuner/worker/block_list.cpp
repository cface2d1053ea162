#include "tuner/worker/block_list.h"

#include <utility>

namespace rooftile {

BlockList::BlockList(Store& store, RowId device) : store_(store), device_(device) {
  for (const BlackListRecord& entry : store_.black_listed(device_))
    blocked_.insert(entry.candidate);
  for (const JournalRecord& entry : store_.dead_journal(device_))
    suspects_.emplace(entry.candidate, entry.id);
}

std::vector<CandidateRecord> BlockList::suspects() const {
  std::vector<CandidateRecord> records;
  for (const auto& [candidate, journal] : suspects_)
    if (auto record = store_.candidate(candidate)) records.push_back(*std::move(record));
  return records;
}

void BlockList::release(RowId candidate) { released_.insert(suspects_.extract(candidate)); }

void BlockList::block(RowId candidate, const std::string& reason) {
  store_.black_list(device_, candidate, reason);
  blocked_.insert(candidate);
  settle(candidate);
}

void BlockList::settle(RowId candidate) {
  if (const auto entry = released_.extract(candidate)) store_.journal_end(entry.mapped());
}

}  // namespace rooftile
