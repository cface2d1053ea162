// Adds the partial sums of a split-K GEMM in a fixed order, applies alpha, beta and the epilogue,
// and stores what a kernel without split-K would have stored. An invocation handles four
// neighbouring columns of a row.
#extension GL_EXT_control_flow_attributes : enable

#define C_BINDING 1
#define VECTOR_WIDTH_C 4

layout(local_size_x = LOCAL_SIZE) in;

// Byte for byte ReducePushConstants of generator/emit.h. A partial sum is a matrix of m x
// ld_partial elements, and ld_partial is a multiple of four.
layout(push_constant) uniform Reduction {
  uint m, n, ldc, ld_partial;
#if TYPE_C == F64
  double alpha, beta;
#else
  float alpha, beta;
#endif
  uint offset_c, stride_c;
  uint first_partial;  // offset of the first partial sum, in elements
  uint batch, partials;
#if EPILOGUE
#include "epilogue/push.glsl"
#endif
};
#include "epilogue/finish.glsl"

layout(binding = 0, std430) readonly buffer PartialSums { PARTIAL_SUM_4 partial_sums[]; };
#include "epilogue/c.glsl"

void main() {
  const uint vectors = ld_partial / 4;
  const uint batch_index = gl_WorkGroupID.z;
#if EPILOGUE
  begin_epilogue(batch_index);
#endif
  // Grid-stride loops: a grid of any size computes the same, so the plan may cut it to the device's
  // limits.
  for (uint row = gl_WorkGroupID.y; row < m; row += gl_NumWorkGroups.y)
    for (uint x = gl_GlobalInvocationID.x; x < vectors; x += gl_NumWorkGroups.x * LOCAL_SIZE) {
      PARTIAL_SUM_4 sum = PARTIAL_SUM_4(0);
      for (uint p = 0; p < partials; ++p)
        sum += partial_sums[first_partial / 4 + ((p * batch + batch_index) * m + row) * vectors + x];
      const uint c_index = offset_c + batch_index * stride_c + row * ldc + x * 4;
      if (c_index % 4 == 0 && x * 4 + 4 <= n) {
        RESULT_C old = RESULT_C(0);
        if (beta != 0.0) old = RESULT(beta) * load_c_vector(c_index);  // at beta 0 C may hold NaN
        store_c_vector(c_index, finish(RESULT_C(sum), old, row, x * 4));
      } else {
        [[unroll]] for (uint w = 0; w < 4; ++w)
          if (x * 4 + w < n) {
            RESULT old = RESULT(0);
            if (beta != 0.0) old = RESULT(beta) * load_c(c_index + w);
            store_c(c_index + w, finish(RESULT(sum[w]), old, row, x * 4 + w));
          }
      }
    }
}
