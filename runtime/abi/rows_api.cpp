// C ABI of rows.h.
#include <rooftile/rows.h>

#include "runtime/abi/row_arguments.h"

extern "C" {

rooftile_status rooftile_list_softmax(rooftile_list* list, const rooftile_softmax_args* args,
                                      rooftile_place x, rooftile_place y) {
  using namespace rooftile;
  return add_rows(list, args, [&](ResidentList& to, const auto& given, const RowPlaces& at) {
    if (given.unused != 0) fail(ErrorCode::kInvalidArgument, "args->unused is not 0");
    to.add_rows(SoftmaxCall{.rows = given.rows,
                            .columns = given.columns,
                            .batch = given.batch,
                            .x = at(x, given.ld_x, given.stride_x),
                            .y = at(y, given.ld_y, given.stride_y),
                            .scale = given.scale,
                            .causal = given.causal != 0,
                            .causal_offset = given.causal_offset});
  });
}

rooftile_status rooftile_list_multiply(rooftile_list* list, const rooftile_multiply_args* args,
                                       rooftile_place x, rooftile_place y, rooftile_place z) {
  using namespace rooftile;
  return add_rows(list, args, [&](ResidentList& to, const auto& given, const RowPlaces& at) {
    to.add_rows(MultiplyCall{.rows = given.rows,
                             .columns = given.columns,
                             .activation = activation_of(given.activation),
                             .x = at(x, given.ld_x),
                             .y = at(y, given.ld_y),
                             .z = at(z, given.ld_z)});
  });
}

}  // extern "C"
