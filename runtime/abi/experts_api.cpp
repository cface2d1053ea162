// C ABI of experts.h.
#include <rooftile/experts.h>

#include "runtime/abi/row_arguments.h"

extern "C" {

rooftile_status rooftile_list_top_k(rooftile_list* list, const rooftile_top_k_args* args,
                                    rooftile_place x, rooftile_place experts,
                                    rooftile_place weights) {
  using namespace rooftile;
  return add_rows(list, args, [&](ResidentList& to, const auto& given, const RowPlaces& at) {
    to.add_rows(TopKCall{.rows = given.rows,
                         .columns = given.columns,
                         .chosen = given.chosen,
                         .weights_of_all = given.weights_of_all != 0,
                         .x = at(x, given.ld_x),
                         .chosen_columns = at(experts, given.ld_experts),
                         .weights = at(weights, given.ld_weights)});
  });
}

rooftile_status rooftile_list_group_tokens(rooftile_list* list,
                                           const rooftile_group_tokens_args* args,
                                           rooftile_place experts_of_tokens, rooftile_place sizes,
                                           rooftile_place sources, rooftile_place places,
                                           rooftile_place status) {
  using namespace rooftile;
  return add_rows(list, args, [&](ResidentList& to, const auto& given, const RowPlaces& at) {
    to.add_rows(GroupTokensCall{.tokens = given.tokens,
                                .chosen = given.chosen,
                                .experts = given.experts,
                                .experts_of_tokens = at(experts_of_tokens, given.ld_experts),
                                .sizes = at(sizes),
                                .sources = at(sources),
                                .places = at(places, given.ld_places),
                                .status = at(status)});
  });
}

rooftile_status rooftile_list_gather(rooftile_list* list, const rooftile_gather_args* args,
                                     rooftile_place x, rooftile_place sources, rooftile_place y,
                                     rooftile_place status) {
  using namespace rooftile;
  return add_rows(list, args, [&](ResidentList& to, const auto& given, const RowPlaces& at) {
    to.add_rows(GatherCall{.rows = given.rows,
                           .columns = given.columns,
                           .rows_x = given.rows_x,
                           .x = at(x, given.ld_x),
                           .sources = at(sources),
                           .y = at(y, given.ld_y),
                           .status = at(status)});
  });
}

rooftile_status rooftile_list_combine(rooftile_list* list, const rooftile_combine_args* args,
                                      rooftile_place x, rooftile_place places,
                                      rooftile_place weights, rooftile_place residual,
                                      rooftile_place y, rooftile_place status) {
  using namespace rooftile;
  return add_rows(list, args, [&](ResidentList& to, const auto& given, const RowPlaces& at) {
    to.add_rows(CombineCall{.tokens = given.tokens,
                            .columns = given.columns,
                            .chosen = given.chosen,
                            .rows_x = given.rows_x,
                            .x = at(x, given.ld_x),
                            .places = at(places, given.ld_places),
                            .weights = at(weights, given.ld_weights),
                            .residual = at(residual, given.ld_residual),
                            .y = at(y, given.ld_y),
                            .status = at(status)});
  });
}

}  // extern "C"
