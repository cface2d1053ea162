// C ABI of experts.h.
#include <rooftile/experts.h>

#include "runtime/abi/c_api_arguments.h"
#include "runtime/abi/c_api_guard.h"
#include "runtime/abi/resident_handles.h"

namespace rooftile {

template <>
inline constexpr std::size_t kLeastBytes<rooftile_top_k_args> = sizeof(rooftile_top_k_args);
template <>
inline constexpr std::size_t kLeastBytes<rooftile_group_tokens_args> =
    sizeof(rooftile_group_tokens_args);
template <>
inline constexpr std::size_t kLeastBytes<rooftile_gather_args> = sizeof(rooftile_gather_args);
template <>
inline constexpr std::size_t kLeastBytes<rooftile_combine_args> = sizeof(rooftile_combine_args);

namespace {

/// A place without a buffer is an operand that is left out, which not every call allows. Lists of
/// integers have no ld.
RowMatrices maybe(const Resident& resident, const rooftile_place& place, std::int64_t ld = 0) {
  if (place.buffer == nullptr) return {};
  return {memory_of(resident, place.buffer), place.offset, ld, 0};
}

}  // namespace
}  // namespace rooftile

extern "C" {

rooftile_status rooftile_list_top_k(rooftile_list* list, const rooftile_top_k_args* args,
                                    rooftile_place x, rooftile_place experts,
                                    rooftile_place weights) {
  using namespace rooftile;
  return guarded([&] {
    const auto named = list_names().get(list);
    const Given given("args", args);
    const Resident& resident = *named->resident;
    named->list->add_top_k({.rows = given->rows,
                            .columns = given->columns,
                            .chosen = given->chosen,
                            .x = maybe(resident, x, given->ld_x),
                            .chosen_columns = maybe(resident, experts, given->ld_experts),
                            .weights = maybe(resident, weights, given->ld_weights)});
  });
}

rooftile_status rooftile_list_group_tokens(rooftile_list* list,
                                           const rooftile_group_tokens_args* args,
                                           rooftile_place experts_of_tokens, rooftile_place sizes,
                                           rooftile_place sources, rooftile_place places,
                                           rooftile_place status) {
  using namespace rooftile;
  return guarded([&] {
    const auto named = list_names().get(list);
    const Given given("args", args);
    const Resident& resident = *named->resident;
    named->list->add_group_tokens(
        {.tokens = given->tokens,
         .chosen = given->chosen,
         .experts = given->experts,
         .experts_of_tokens = maybe(resident, experts_of_tokens, given->ld_experts),
         .sizes = maybe(resident, sizes),
         .sources = maybe(resident, sources),
         .places = maybe(resident, places, given->ld_places),
         .status = maybe(resident, status)});
  });
}

rooftile_status rooftile_list_gather(rooftile_list* list, const rooftile_gather_args* args,
                                     rooftile_place x, rooftile_place sources, rooftile_place y,
                                     rooftile_place status) {
  using namespace rooftile;
  return guarded([&] {
    const auto named = list_names().get(list);
    const Given given("args", args);
    const Resident& resident = *named->resident;
    named->list->add_gather({.rows = given->rows,
                             .columns = given->columns,
                             .rows_x = given->rows_x,
                             .x = maybe(resident, x, given->ld_x),
                             .sources = maybe(resident, sources),
                             .y = maybe(resident, y, given->ld_y),
                             .status = maybe(resident, status)});
  });
}

rooftile_status rooftile_list_combine(rooftile_list* list, const rooftile_combine_args* args,
                                      rooftile_place x, rooftile_place places,
                                      rooftile_place weights, rooftile_place residual,
                                      rooftile_place y, rooftile_place status) {
  using namespace rooftile;
  return guarded([&] {
    const auto named = list_names().get(list);
    const Given given("args", args);
    const Resident& resident = *named->resident;
    named->list->add_combine({.tokens = given->tokens,
                              .columns = given->columns,
                              .chosen = given->chosen,
                              .rows_x = given->rows_x,
                              .x = maybe(resident, x, given->ld_x),
                              .places = maybe(resident, places, given->ld_places),
                              .weights = maybe(resident, weights, given->ld_weights),
                              .residual = maybe(resident, residual, given->ld_residual),
                              .y = maybe(resident, y, given->ld_y),
                              .status = maybe(resident, status)});
  });
}

}  // extern "C"
