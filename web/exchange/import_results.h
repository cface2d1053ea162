#pragma once

#include "db/store.h"
#include "web/exchange/results.h"

namespace rooftile::web {

/// Adds the results as measurements of another machine (Store::import_from), so that they seed
/// searches and appear in reports, and no kernel is dispatched because of them. Kernels that no
/// adapter could run, or none of this version, are left out. Results that were imported before add
/// nothing. Throws as Store::import_from does.
ImportReport import_results(Store& store, const Results& results);

}  // namespace rooftile::web
