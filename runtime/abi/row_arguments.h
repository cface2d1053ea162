// What the C ABI's row operations (rows.h, experts.h) have in common.
#pragma once

#include "runtime/abi/c_api_arguments.h"
#include "runtime/abi/c_api_guard.h"
#include "runtime/abi/handles.h"

namespace rooftile {

/// The caller's places as operands of row operations.
class RowPlaces {
 public:
  explicit RowPlaces(const Resident& resident) : resident_(resident) {}

  /// Without memory where the place has no buffer: that operand is left out, which not every call
  /// allows. Lists of integers have no ld. Throws as memory_of.
  RowMatrices operator()(const rooftile_place& place, std::int64_t ld = 0,
                         std::int64_t stride = 0) const {
    if (place.buffer == nullptr) return {};
    return {memory_of(resident_, place.buffer), place.offset, ld, stride};
  }

 private:
  const Resident& resident_;
};

/// Calls add(list, *args, places), and returns the status.
template <typename Args, typename Add>
rooftile_status add_rows(rooftile_list* list, const Args* args, const Add& add) {
  return guarded([&] {
    const auto named = list_names().get(list);
    const Given given("args", args);
    add(*named->list, *given, RowPlaces(*named->resident));
  });
}

}  // namespace rooftile
