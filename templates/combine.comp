// y[t] := residual[t] + the sum over i of weights[t][i] * x[places[t][i]], row by row, in the order
// of i: float32 has the same sum in every run. A place that no row of x has adds nothing. y may be
// the residual.

layout(local_size_x = LOCAL_SIZE) in;

// Byte for byte CombinePushConstants of generator/emit_rows.h.
layout(push_constant) uniform Combine {
  uint tokens, columns, chosen, rows_x;
  uint base_x, ld_x;
  uint base_places, ld_places;
  uint base_weights, ld_weights;
  uint base_residual, ld_residual;
  uint base_y, ld_y;
  uint base_status;
  uint has_residual, has_status;
};

layout(binding = 0, std430) readonly buffer X { float x[]; };
layout(binding = 1, std430) readonly buffer Places { uint places[]; };
layout(binding = 2, std430) readonly buffer Weights { float weights[]; };
layout(binding = 3, std430) readonly buffer Residual { float residual[]; };
layout(binding = 4, std430) buffer Y { float y[]; };
layout(binding = 5, std430) writeonly buffer Status { uint status[]; };

#include "common/row_status.glsl"

void main() {
  // Grid-stride loops: a grid of any size computes the same.
  for (uint token = gl_WorkGroupID.y; token < tokens; token += gl_NumWorkGroups.y)
    for (uint j = gl_GlobalInvocationID.x; j < columns; j += gl_NumWorkGroups.x * LOCAL_SIZE) {
      float sum = has_residual == 1 ? residual[base_residual + token * ld_residual + j] : 0.0;
      for (uint i = 0; i < chosen; ++i) {
        const uint place = places[base_places + token * ld_places + i];
        if (place < rows_x)
          sum += weights[base_weights + token * ld_weights + i] * x[base_x + place * ld_x + j];
      }
      y[base_y + token * ld_y + j] = sum;
    }
  if (!reports_status()) return;
  bool outside = false;
  for (uint pair = gl_LocalInvocationID.x; pair < tokens * chosen; pair += LOCAL_SIZE)
    outside = outside || is_outside(places[base_places + pair / chosen * ld_places + pair % chosen]);
  report_status(outside);
}
