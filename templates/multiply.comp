// z := activation(x) * y, element by element, of float32 matrices. z may be x or y.

layout(local_size_x = LOCAL_SIZE) in;

// Byte for byte MultiplyPushConstants of generator/emit_rows.h.
layout(push_constant) uniform Multiply {
  uint rows, columns;
  uint base_x, ld_x;
  uint base_y, ld_y;
  uint base_z, ld_z;
};

layout(binding = 0, std430) readonly buffer X { float x[]; };
layout(binding = 1, std430) readonly buffer Y { float y[]; };
layout(binding = 2, std430) buffer Z { float z[]; };

#include "epilogue/activate.glsl"

void main() {
  // Grid-stride loops: a grid of any size computes the same.
  for (uint row = gl_WorkGroupID.y; row < rows; row += gl_NumWorkGroups.y)
    for (uint j = gl_GlobalInvocationID.x; j < columns; j += gl_NumWorkGroups.x * LOCAL_SIZE)
      z[base_z + row * ld_z + j] = activate(x[base_x + row * ld_x + j]) * y[base_y + row * ld_y + j];
}
