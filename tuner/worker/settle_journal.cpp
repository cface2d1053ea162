#include "tuner/worker/settle_journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "db/tables/process_identity.h"

namespace rooftile {
namespace {

constexpr std::size_t kStrikes = 2;

}  // namespace

void settle_journal(Store& store, RowId device,
                    const std::function<void(const std::string&)>& message) {
  std::map<RowId, std::vector<JournalRecord>> dead;
  for (const JournalRecord& entry : store.dead_journal(device))
    dead[entry.candidate].push_back(entry);
  for (const auto& [candidate, entries] : dead) {
    const bool machine = std::ranges::any_of(
        entries, [](const JournalRecord& entry) { return is_of_another_boot(entry); });
    const auto record = store.candidate(candidate);
    const std::string name =
        record ? short_name(record->variant) : fmt::format("candidate {}", candidate);
    const std::string& at = entries.back().started_at;
    if (!machine && entries.size() < kStrikes) {
      if (message)
        message(
            fmt::format("the tuner ended abnormally while {} was measured ({}): the candidate is "
                        "measured again, last",
                        name, at));
      continue;
    }
    const std::string reason =
        machine
            ? fmt::format("the machine stopped while this candidate was measured ({})", at)
            : fmt::format("the tuner ended abnormally twice while this candidate was measured ({})",
                          at);
    store.black_list(device, candidate, reason);
    for (const JournalRecord& entry : entries) store.journal_end(entry.id);
    if (message) message(fmt::format("black-listed {}: {}", name, reason));
  }
}

}  // namespace rooftile
