// Evaluation of the journal entries of tuners that died.
#pragma once

#include <functional>
#include <string>

#include "db/store.h"

namespace rooftile {

/// Blocks a candidate that was running when the machine went down. A candidate that was running
/// when only the tuner died, which may have been a kill -9, is blocked the second time; until then
/// its entry stays (CandidateRunner tries it after all others). `message` may be empty.
void settle_journal(Store& store, RowId device,
                    const std::function<void(const std::string&)>& message);

}  // namespace rooftile
