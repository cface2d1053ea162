#include "runtime/tuned/imported_data.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "db/store.h"
#include "runtime/model/gpu/gpu_generation.h"
#include "runtime/tuned/shipped_devices.h"
#include "runtime/tuned/tuned_data.h"
#include "runtime/tuned/wanted_device.h"

namespace rooftile {
namespace {

/// Kernels, portfolios and rates that were found so far. The first rates count, and the first
/// portfolio of each class.
class Found {
 public:
  explicit Found(const DeviceProfile& device) : device_(device) {}

  void add(TunedKernel kernel) { kernels_.push_back(std::move(kernel)); }
  void add_portfolio(std::vector<PortfolioKernel> kernels) {
    std::erase_if(kernels, [known = classes()](const PortfolioKernel& kernel) {
      return std::ranges::find(known, kernel.candidate.signature) != known.end();
    });
    std::ranges::move(kernels, std::back_inserter(portfolio_));
  }
  void add_rates(const Store& store, RowId row) {
    if (is_calibrated(calibration_.device)) return;
    calibration_ = calibration_from_figures(store.latest_calibration(row));
    calibration_.device.gpu = gpu_generation(device_);
  }
  ImportedData data() && {
    std::vector<TunedTime> times = best_times(kernels_);
    return {.ranking =
                KernelRanking(device_.limits, calibration_.device, std::move(kernels_), portfolio_),
            .calibration = std::move(calibration_),
            .times = std::move(times)};
  }

 private:
  /// Those with a portfolio.
  std::vector<std::string> classes() const {
    std::vector<std::string> signatures;
    for (const PortfolioKernel& kernel : portfolio_)
      if (signatures.empty() || signatures.back() != kernel.candidate.signature)
        signatures.push_back(kernel.candidate.signature);
    return signatures;
  }

  const DeviceProfile& device_;
  std::vector<TunedKernel> kernels_;
  std::vector<PortfolioKernel> portfolio_;
  Calibration calibration_;
};

void add_imported(Found& found, const Store& store, const DeviceProfile& device) {
  const RowId here = store.find_device(device).value_or(0);
  std::vector<DeviceRecord> rows = store.devices();
  std::erase_if(
      rows, [&](const DeviceRecord& row) { return !same_product_and_driver(row.profile, device); });
  std::ranges::reverse(rows);  // the newest first
  std::stable_partition(rows.begin(), rows.end(),
                        [&](const DeviceRecord& row) { return row.id == here; });
  for (const DeviceRecord& row : rows) {
    std::vector<ImportedKernel> kernels = store.imported_kernels(row.id, here);
    if (kernels.empty()) continue;
    for (ImportedKernel& imported : kernels) found.add(std::move(imported.kernel));
    found.add_portfolio(store.imported_portfolio(row.id, here));
    found.add_rates(store, row.id);
  }
}

void add_shipped(Found& found, const Store& store, RowId row) {
  std::vector<std::string> classes;
  for (RankedKernel& entry : store.winners(row)) {
    if (entry.black_list_reason) continue;
    const std::string& signature = entry.kernel.candidate.signature;
    if (std::ranges::find(classes, signature) == classes.end()) classes.push_back(signature);
    found.add(std::move(entry.kernel));
  }
  const std::vector<BlackListRecord> blocked = store.black_listed(row);
  for (const std::string& signature : classes) {
    std::vector<PortfolioKernel> kernels = store.measured_portfolio(row, signature);
    std::erase_if(kernels, [&](const PortfolioKernel& kernel) {
      return !kernel.place || std::ranges::any_of(blocked, [&](const BlackListRecord& record) {
        return record.candidate == kernel.candidate.id;
      });
    });
    found.add_portfolio(std::move(kernels));
  }
  found.add_rates(store, row);
}

}  // namespace

ImportedData imported_data(const std::filesystem::path& database,
                           const std::filesystem::path& shipped_folder,
                           const DeviceProfile& device) {
  Found found(device);
  try {
    if (!database.empty() && database_exists(database))
      add_imported(
          found,
          Store(database, {.mode = OpenMode::kReadOnly, .busy_timeout_ms = kDatabasePatienceMs}),
          device);
  } catch (const Error&) {  // Locked or damaged: what was imported is not known.
  }
  for (const ShippedDevice& one : shipped_devices(shipped_folder, device)) {
    if (!one.same_driver) continue;
    try {
      add_shipped(
          found,
          Store(one.file, {.mode = OpenMode::kReadOnly, .busy_timeout_ms = kShippedPatienceMs}),
          one.row);
    } catch (const Error&) {
      warn_left_out(one.file);
    }
  }
  return std::move(found).data();
}

}  // namespace rooftile
