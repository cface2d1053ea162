// y[i] := x[sources[i]], row by row. A source that no row of x has leaves the row of y as it is.

layout(local_size_x = LOCAL_SIZE) in;

// Byte for byte GatherPushConstants of generator/emit_rows.h.
layout(push_constant) uniform Gather {
  uint rows, columns, rows_x;
  uint base_x, ld_x;
  uint base_sources;
  uint base_y, ld_y;
  uint base_status;
  uint has_status;
};

layout(binding = 0, std430) readonly buffer X { uint x[]; };
layout(binding = 1, std430) readonly buffer Sources { uint sources[]; };
layout(binding = 2, std430) writeonly buffer Y { uint y[]; };
layout(binding = 3, std430) writeonly buffer Status { uint status[]; };

#include "common/row_status.glsl"

void main() {
  // Grid-stride loops: a grid of any size computes the same.
  for (uint row = gl_WorkGroupID.y; row < rows; row += gl_NumWorkGroups.y) {
    const uint source = sources[base_sources + row];
    if (source >= rows_x) continue;
    for (uint j = gl_GlobalInvocationID.x; j < columns; j += gl_NumWorkGroups.x * LOCAL_SIZE)
      y[base_y + row * ld_y + j] = x[base_x + source * ld_x + j];
  }
  if (!reports_status()) return;
  bool outside = false;
  for (uint row = gl_LocalInvocationID.x; row < rows; row += LOCAL_SIZE)
    outside = outside || is_outside(sources[base_sources + row]);
  report_status(outside);
}
