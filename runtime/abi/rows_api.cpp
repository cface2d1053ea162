// C ABI of rows.h.
#include <rooftile/rows.h>

#include "runtime/abi/c_api_arguments.h"
#include "runtime/abi/c_api_guard.h"
#include "runtime/abi/resident_handles.h"

namespace rooftile {

template <>
inline constexpr std::size_t kLeastBytes<rooftile_softmax_args> = sizeof(rooftile_softmax_args);
template <>
inline constexpr std::size_t kLeastBytes<rooftile_multiply_args> = sizeof(rooftile_multiply_args);

namespace {

RowMatrices matrices(const Resident& resident, const char* what, const rooftile_place& place,
                     std::int64_t ld, std::int64_t stride) {
  if (place.buffer == nullptr) fail(ErrorCode::kInvalidArgument, "{} has no buffer", what);
  return {memory_of(resident, place.buffer), place.offset, ld, stride};
}

}  // namespace
}  // namespace rooftile

extern "C" {

rooftile_status rooftile_list_softmax(rooftile_list* list, const rooftile_softmax_args* args,
                                      rooftile_place x, rooftile_place y) {
  using namespace rooftile;
  return guarded([&] {
    const auto named = list_names().get(list);
    const Given given("args", args);
    if (given->unused != 0) fail(ErrorCode::kInvalidArgument, "args->unused is not 0");
    named->list->add_softmax({.rows = given->rows,
                              .columns = given->columns,
                              .batch = given->batch,
                              .x = matrices(*named->resident, "x", x, given->ld_x, given->stride_x),
                              .y = matrices(*named->resident, "y", y, given->ld_y, given->stride_y),
                              .scale = given->scale,
                              .causal = given->causal != 0,
                              .causal_offset = given->causal_offset});
  });
}

rooftile_status rooftile_list_multiply(rooftile_list* list, const rooftile_multiply_args* args,
                                       rooftile_place x, rooftile_place y, rooftile_place z) {
  using namespace rooftile;
  return guarded([&] {
    const auto named = list_names().get(list);
    const Given given("args", args);
    named->list->add_multiply({.rows = given->rows,
                               .columns = given->columns,
                               .activation = activation_of(given->activation),
                               .x = matrices(*named->resident, "x", x, given->ld_x, 0),
                               .y = matrices(*named->resident, "y", y, given->ld_y, 0),
                               .z = matrices(*named->resident, "z", z, given->ld_z, 0)});
  });
}

}  // extern "C"
