// Makes what other machines with this product and driver found usable here, in seconds: a fleet of
// equal machines needs one search.
#pragma once

#include <functional>
#include <string>

#include "db/store.h"

namespace rooftile {

class CandidateRunner;
struct ImportedWork;

struct ImportedReport {
  std::size_t lists = 0,
              usable = 0;  // problems; those whose best kernel is certified and timed now
  // Problems with a list of this machine's own whose best kernel lost to the imported one, or won.
  std::size_t replaced = 0, kept = 0;
  std::size_t portfolios = 0, portfolios_usable = 0;  // classes
  std::size_t kernels = 0;                            // certified, or refused
  // Times here over times there, of all portfolios' kernels: the median, the least and the most.
  // 0: none was compared.
  double ratio = 0, least_ratio = 0, most_ratio = 0;
  // Wall time from the start until every problem's best kernel was stored, every portfolio, and
  // everything; and how much of it went into certifying and timing.
  double usable_s = 0, portfolios_s = 0, elapsed_s = 0, certify_s = 0, time_s = 0;
};

struct ImportedOptions {
  std::function<bool()> over;                         // asked before every kernel
  std::function<void(const Problem&)> progress = {};  // before each list and portfolio
  std::function<void(const std::string&)> message = {};
};

/// Every kernel is certified in the worker before it is timed or stored. In this order, so that an
/// interruption leaves the most:
///   1. The best kernel of each list is timed on the list's problem and stored. Where this machine
///      has a list of its own, it takes the lead only if a paired comparison with the own best
///      kernel finds it faster; otherwise the own list stays as it is.
///   2. The portfolios, whose kernels are each timed on one problem only. All times of a portfolio
///      are scaled by the median of (time here) / (time there): a common factor leaves every choice
///      as it was, and to measure all of them again would take minutes. A kernel that is more than
///      twice as fast or slow as that factor has it is left out.
///   3. The other kernels of the lists, for operands that the best one does not take. They keep the
///      other machine's order, so that equal machines choose the same kernel for the same problem.
/// On a GPU the kernels are compiled ahead in this order.
/// What is stored stays when over() turns true; imported_work finds the rest again.
ImportedReport certify_imported(Store& store, CandidateRunner& runner, RowId device_row,
                                const ImportedWork& work, const ImportedOptions& options);

}  // namespace rooftile
