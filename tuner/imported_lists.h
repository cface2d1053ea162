// What other machines with this device and driver found, and this one has not certified yet.
#pragma once

#include <string>
#include <vector>

#include "core/device_profile.h"
#include "db/store.h"

namespace rooftile {

/// A problem's ranked list from elsewhere.
struct ImportedList {
  Problem problem;
  // That are legal and not refused here, best first: the best three and the last two, as in
  // stale_lists. Of several machines' lists the first kernels of all come before the second ones.
  // Where own is another list, only each machine's best one that was not measured here.
  std::vector<Variant> kernels;
  double best_ns = 0;  // kernel and packing of the first one, as it was measured there
  // This machine's own certified list for the problem, by rank; empty: it has none.
  std::vector<TunedKernel> own;
  bool begun = false;  // own is what an interrupted certification of this list has stored
};

/// A class's portfolio from elsewhere.
struct ImportedPortfolio {
  Problem like;                          // a problem of the class
  std::vector<PortfolioKernel> kernels;  // by place
};

struct ImportedWork {
  std::vector<ImportedList> lists;
  std::vector<ImportedPortfolio> portfolios;
  bool empty() const { return lists.empty() && portfolios.empty(); }
};

/// Of the device's row: the lists of problems that have no certified list here, and those with a
/// kernel that is neither in the list here nor measured here on the list's problem; and the
/// portfolios of classes that have none here but a ranked list, imported or own. So what was
/// certified once is not found again. Lists are in such an order that storing each at the head of
/// its bucket's list gives the other machine's order.
ImportedWork imported_work(Store& store, const DeviceProfile& device, RowId device_row);

/// Why imported lists for other rows of this hardware cannot be certified as they are, a sentence
/// for each row.
std::vector<std::string> other_imported_data(Store& store, const DeviceProfile& device,
                                             RowId device_row);

}  // namespace rooftile
