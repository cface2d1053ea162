// The largest values of each row, in falling order, and the softmax of these or of the whole row. A
// workgroup chooses for a row: in each round its invocations find the largest value behind the one
// chosen last. Values are compared as integers, so that equal ones are taken by their columns and
// NaN, the largest, is an order on every driver.

layout(local_size_x = LOCAL_SIZE) in;

// Byte for byte TopKPushConstants of generator/emit_rows.h.
layout(push_constant) uniform TopK {
  uint rows, columns;
  uint chosen, weights_of_all;
  uint base_x, ld_x;
  uint base_columns, ld_columns;
  uint base_weights, ld_weights;
};

layout(binding = 0, std430) readonly buffer X { uint x[]; };  // bits of float32
layout(binding = 1, std430) writeonly buffer Columns { uint chosen_columns[]; };
layout(binding = 2, std430) writeonly buffer Weights { float weights[]; };

#define MOST_CHOSEN 64
#define NO_COLUMN 0xffffffffu

#include "common/exponentials.glsl"

shared uvec2 partials[LOCAL_SIZE];  // key, column
shared float values[MOST_CHOSEN];
shared float sums[LOCAL_SIZE];

/// Keys are in the order of the values; NaN is above all, and -0 equals 0.
uint key_of(uint bits) {
  const uint size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return 0xffffffffu;
  if (size == 0) return 0x80000000u;
  return bits == size ? bits | 0x80000000u : ~bits;
}

/// Whether a is to be chosen before b.
bool before(uvec2 a, uvec2 b) {
  return a.y != NO_COLUMN && (b.y == NO_COLUMN || a.x > b.x || (a.x == b.x && a.y < b.y));
}

/// The sum of a row's exponentials over that of the largest value, of all columns.
float sum_of_all(uint row) {
  float own = 0.0;
  for (uint j = gl_LocalInvocationID.x; j < columns; j += LOCAL_SIZE)
    own += exp_below(uintBitsToFloat(x[base_x + row * ld_x + j]) - values[0]);
  sums[gl_LocalInvocationID.x] = own;
  barrier();
  float sum = 0.0;
  for (uint lane = 0; lane < LOCAL_SIZE; ++lane) sum += sums[lane];
  return sum;
}

void choose(uint row) {
  const uint lane = gl_LocalInvocationID.x;
  uvec2 last = uvec2(0, NO_COLUMN);
  for (uint i = 0; i < chosen; ++i) {
    uvec2 best = uvec2(0, NO_COLUMN);
    for (uint j = lane; j < columns; j += LOCAL_SIZE) {
      const uvec2 own = uvec2(key_of(x[base_x + row * ld_x + j]), j);
      if ((i == 0 || before(last, own)) && before(own, best)) best = own;
    }
    barrier();  // The partials of the round before were read.
    partials[lane] = best;
    barrier();
    best = partials[0];
    for (uint other = 1; other < LOCAL_SIZE; ++other)
      if (before(partials[other], best)) best = partials[other];
    last = best;
    if (lane == 0) {
      values[i] = uintBitsToFloat(x[base_x + row * ld_x + best.y]);
      chosen_columns[base_columns + row * ld_columns + i] = best.y;
    }
  }
  barrier();
  // Without a finite largest value the weights are NaN, which is not left to the driver's exp.
  const bool finite = is_finite(values[0]);
  float sum = 0.0;
  if (weights_of_all != 0)
    sum = sum_of_all(row);
  else
    for (uint i = 0; i < chosen; ++i) sum += exp_below(values[i] - values[0]);
  for (uint i = lane; i < chosen; i += LOCAL_SIZE)
    weights[base_weights + row * ld_weights + i] =
        finite ? exp_below(values[i] - values[0]) / sum : NOT_A_NUMBER;
}

void main() {
  // A grid-stride loop: a grid of any size computes the same. The condition is the same for the
  // whole workgroup, as barriers need.
  for (uint row = gl_WorkGroupID.x; row < rows; row += gl_NumWorkGroups.x) choose(row);
}
