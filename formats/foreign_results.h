// Results that are no database, as another machine's data.
#pragma once

#include <functional>
#include <string>

#include "db/store.h"

namespace rooftile {

/// Adds what `fill` writes into an empty database as data of another machine, by the rules of
/// Store::import_from, and throws as that does. settings: JSON that identifies the results, which a
/// run of theirs must have as its settings; results with the same text that were imported before
/// add nothing, and `fill` is not called.
ImportReport import_foreign(Store& store, const std::string& settings,
                            const std::function<void(Store&)>& fill);

}  // namespace rooftile
