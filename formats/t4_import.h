#pragma once

#include "db/store.h"
#include "formats/t4_read.h"

namespace rooftile {

struct T4Import {
  ImportReport added;
  std::size_t illegal = 0;  ///< Results of kernels that their device cannot run, by our rules.
  bool own = false;         ///< The results are this database's own, and nothing was added.
};

/// Adds the results as measurements of another machine (import_foreign), and of every problem its
/// fastest kernels as a ranked list, which this machine has to certify before it uses any. Throws
/// as Store::import_from does.
T4Import import_t4(Store& store, const T4Results& results);

}  // namespace rooftile
