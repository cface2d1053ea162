// The samples of a database with everything that they refer to, for formats that hold one sample a
// row.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "db/store.h"

namespace rooftile {

/// Which samples are exported.
struct RowFilter {
  std::span<const RowId> devices;
  std::optional<Problem> problem = {};  ///< Only those of this one; alpha and beta do not count.
};

struct StoredRow {
  const StoredSample& sample;
  const Variant& variant;
  const Problem& problem;
  std::size_t device;  ///< Position in RowFilter::devices.
};

/// Calls `each` for every sample, device by device and problem by problem, and returns their
/// number. Samples of kernels that this version cannot parse are left out.
std::size_t for_each_row(const Store& store, const RowFilter& filter,
                         const std::function<void(const StoredRow&)>& each);

/// Calls `write` with pieces of some size instead of many short ones.
class Buffered {
 public:
  using Write = std::function<void(std::string_view)>;
  explicit Buffered(Write write) : write_(std::move(write)) {}
  void add(std::string_view text);
  void flush();

 private:
  Write write_;
  std::string text_;
};

}  // namespace rooftile
