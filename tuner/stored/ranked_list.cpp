#include "tuner/stored/ranked_list.h"

namespace rooftile {

void store_ranked(Store& store, RowId device, const Problem& problem,
                  std::span<const WinnerRecord> best_first) {
  const std::string bucket = to_string(bucket_of(problem));
  const RowId problem_row = store.problem_id(problem);
  std::vector<WinnerRecord> records;
  const auto add = [&](WinnerRecord record, RowId of_problem) {
    record.problem = of_problem;
    record.rank = static_cast<int>(records.size());
    records.push_back(record);
  };
  for (const WinnerRecord& record : best_first) add(record, problem_row);
  for (const RankedKernel& other : store.winners(device)) {
    if (other.kernel.bucket != bucket) continue;
    const RowId other_row = store.problem_id(other.kernel.problem);
    if (other_row != problem_row)
      add({.candidate = other.kernel.candidate.id,
           .kernel_ns = other.kernel.kernel_ns,
           .pack_ns = other.kernel.pack_ns},
          other_row);
  }
  store.put_winners(device, bucket, records);
}

}  // namespace rooftile
