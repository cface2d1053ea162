#version 450
// Adds the parts of a product that was split along k, always in the same order, and stores
// what one kernel would have stored.
// An invocation owns four neighbouring columns of a row.
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable

#ifndef LOCAL_SIZE
#define LOCAL_SIZE 64
#endif

#ifndef PART_4
#define PART_4 vec4
#endif
#define C_BINDING 1
#define VECTOR_WIDTH_C 4

layout(local_size_x = LOCAL_SIZE) in;

// Byte for byte ReducePushConstants of generator/emit.h. Parts are m x ld_part each, ld_part a
// multiple of four.
layout(push_constant) uniform Reduction {
  uint m, n, ldc, ld_part;
  float alpha, beta;
  uint offset_c, stride_c;
  uint first_part;  // elements
  uint batch, parts;
#include "epilogue_push_none.glsl"
};
#include "epilogue_none.glsl"

layout(binding = 0, std430) readonly buffer Parts { PART_4 part[]; };
#include "c_f32.glsl"

void main() {
  const uint vectors = ld_part / 4;
  const uint product = gl_WorkGroupID.z;
  begin_epilogue(product);
  // Strides of the whole grid: any grid is right, so the planner may cut it to the device's limits.
  for (uint row = gl_WorkGroupID.y; row < m; row += gl_NumWorkGroups.y)
    for (uint x = gl_GlobalInvocationID.x; x < vectors; x += gl_NumWorkGroups.x * LOCAL_SIZE) {
      PART_4 sum = PART_4(0);
      for (uint p = 0; p < parts; ++p)
        sum += part[first_part / 4 + ((p * batch + product) * m + row) * vectors + x];
      const uint target = offset_c + product * stride_c + row * ldc + x * 4;
      if (target % 4 == 0 && x * 4 + 4 <= n) {
        RESULT_C old = RESULT_C(0);
        if (beta != 0.0) old = RESULT(beta) * load_c_vector(target);  // beta 0: C may hold NaN
        store_c_vector(target, finish(RESULT_C(sum), old, row, x * 4));
      } else {
        [[unroll]] for (uint w = 0; w < 4; ++w)
          if (x * 4 + w < n) {
            RESULT old = RESULT(0);
            if (beta != 0.0) old = RESULT(beta) * load_c(target + w);
            store_c(target + w, finish(RESULT(sum[w]), old, row, x * 4 + w));
          }
      }
    }
}
