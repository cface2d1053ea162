// Kernels that other machines with this product and driver found and that this machine has not
// certified yet.
#pragma once

#include <string>
#include <vector>

#include "core/device_profile.h"
#include "db/store.h"

namespace rooftile {

/// A problem's ranked list from other machines.
struct ImportedList {
  Problem problem;
  /// Kernels that are legal and not rejected here, best first: what keep_ends() leaves of them.
  /// With several machines, the first kernels of all lists come before the second ones. If `own` is
  /// another list, only each machine's best kernel that was not measured here.
  std::vector<Variant> kernels;
  /// Kernel and packing time of the first kernel, as measured on the other machine.
  double best_ns = 0;
  /// This machine's certified list for the problem, by rank; empty: it has none.
  std::vector<TunedKernel> own;
  bool begun = false;  ///< `own` was stored by an interrupted certification of this list.
};

/// A class's portfolio from another machine.
struct ImportedPortfolio {
  Problem like;                          ///< A problem of the class.
  std::vector<PortfolioKernel> kernels;  ///< In the portfolio's order.
};

struct ImportedWork {
  std::vector<ImportedList> lists;
  std::vector<ImportedPortfolio> portfolios;
  bool empty() const { return lists.empty() && portfolios.empty(); }
};

/// This row, then the others of this product under this driver, of any version of it, nearest
/// first: what was imported for these is certified here.
std::vector<RowId> certifiable_rows(const Store& store, RowId device_row);

/// Returns the imported work for a device's row: lists of problems without a certified list here;
/// lists with a kernel that is neither in the list here nor measured here on the list's problem;
/// and portfolios of classes that have no portfolio here but a ranked list, imported or own.
/// Certified work is therefore not returned again. The lists are ordered so that storing each at
/// the head of its bucket's list gives the other machine's order.
ImportedWork imported_work(Store& store, const DeviceProfile& device, RowId device_row);

/// Says, in one sentence per row, that lists imported for this product under another driver only
/// give a search its starting points.
std::vector<std::string> other_imported_data(Store& store, const DeviceProfile& device,
                                             RowId device_row);

}  // namespace rooftile
