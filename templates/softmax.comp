// y := softmax(scale * x) of each row of float32 matrices. A workgroup computes a row: each
// invocation passes over its columns once for the largest value and the sum, all invocations
// combine these, and a second pass writes y, which may be x. A row in which a scaled value is NaN
// or +infinity, or in which all are -infinity, becomes NaN on every driver.

layout(local_size_x = LOCAL_SIZE) in;

// Byte for byte SoftmaxPushConstants of generator/emit_rows.h.
layout(push_constant) uniform Softmax {
  uint rows, columns, batch;
  uint base_x, ld_x, stride_x;
  uint base_y, ld_y, stride_y;
  float scale;
  int first_columns;     // columns that row 0 uses
  uint columns_per_row;  // 1: each row uses one column more than the one before; 0: the same
};

layout(binding = 0, std430) readonly buffer X { float x[]; };
layout(binding = 1, std430) buffer Y { float y[]; };

#include "common/exponentials.glsl"

// Of finite values: the largest, and the sum of exp(value - largest). A sum below 0: the row is
// NaN.
shared vec2 partials[LOCAL_SIZE];

#define LOWEST uintBitsToFloat(0xff7fffffu)  // the lowest finite number
#define MINUS_INFINITY 0xff800000u

void softmax_row(uint in_row, uint out_row, uint used) {
  const uint lane = gl_LocalInvocationID.x;
  float largest = LOWEST, sum = 0.0;
  bool is_nan = false;
  for (uint j = lane; j < used; j += LOCAL_SIZE) {
    const float value = scale * x[in_row + j];
    if (!is_finite(value)) {
      is_nan = is_nan || floatBitsToUint(value) != MINUS_INFINITY;
    } else if (value > largest) {
      sum = sum * exp_below(largest - value) + 1.0;
      largest = value;
    } else {
      sum += exp_below(value - largest);
    }
  }
  barrier();  // The partials of the row before were read.
  partials[lane] = vec2(largest, is_nan ? -1.0 : sum);
  barrier();
  float row_largest = LOWEST, row_sum = 0.0;
  for (uint i = 0; i < LOCAL_SIZE; ++i) row_largest = max(row_largest, partials[i].x);
  for (uint i = 0; i < LOCAL_SIZE; ++i) {
    is_nan = is_nan || partials[i].y < 0.0;
    row_sum += partials[i].y * exp_below(partials[i].x - row_largest);
  }
  is_nan = is_nan || row_sum == 0.0;  // no finite value
  for (uint j = lane; j < columns; j += LOCAL_SIZE) {
    const float weight =
        is_nan ? NOT_A_NUMBER : exp_below(scale * x[in_row + j] - row_largest) / row_sum;
    y[out_row + j] = j < used ? weight : 0.0;
  }
}

void main() {
  // Grid-stride loops: a grid of any size computes the same. The conditions are the same for the
  // whole workgroup, as barriers need.
  for (uint b = gl_WorkGroupID.z; b < batch; b += gl_NumWorkGroups.z)
    for (uint row = gl_WorkGroupID.x; row < rows; row += gl_NumWorkGroups.x) {
      const int limit = first_columns + int(row * columns_per_row);
      softmax_row(base_x + b * stride_x + row * ld_x, base_y + b * stride_y + row * ld_y,
                  uint(clamp(limit, 0, int(columns))));
    }
}
