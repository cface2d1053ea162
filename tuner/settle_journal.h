// What tuners that died have left in the journal.
#pragma once

#include <functional>
#include <string>

#include "db/store.h"

namespace rooftile {

/// A candidate that was being tried when the machine went down is black-listed. One that was being
/// tried when only the tuner died, which may have been somebody's kill -9, is black-listed the
/// second time; until then its entry stays (CandidateRunner tries it after all others). message may
/// be empty.
void settle_journal(Store& store, RowId device,
                    const std::function<void(const std::string&)>& message);

}  // namespace rooftile
