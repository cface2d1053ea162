//: Matrix units in plain GLSL, behind the names of templates/matrix/cooperative_matrix.glsl, for
//: devices without any: a fragment of A or B is where it lies in shared memory, and each invocation
//: holds its share of the sums. They multiply bfloat16 alone. emulated_products.glsl is the rest, behind
//: the tiles.
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_EXT_spirv_intrinsics : enable
const uint CooperativeMatrixLayoutRowMajor = 0, CooperativeMatrixLayoutColumnMajor = 1;
#define NonPrivate 32
#define NonPrivateMakeAvailable 40
const uint OWN_SUMS = MATRIX_M * MATRIX_N / SUBGROUP_SIZE;
struct MatrixA { uint stage, element, matrix_layout, stride; };
struct MatrixB { uint stage, element, matrix_layout, stride; };
struct MatrixC { float own[OWN_SUMS]; };

MatrixC coopmatC(float x) {
  MatrixC c;
  for (uint i = 0; i < OWN_SUMS; ++i) c.own[i] = x;
  return c;
}
MatrixC coopMatMulAdd(MatrixA a, MatrixB b, MatrixC c);
MatrixC coopMatAdd(MatrixC x, MatrixC y);
MatrixC coopMatMul(MatrixC x, MatrixC y);
MatrixC emulated_c(uint stage, uint element, uint matrix_layout, uint stride);

// Expanded where a variable of this name holds the stage of the tile.
#define coopMatLoadSharedA(from, element, matrix_layout, stride, memory) \
  MatrixA(stage, element, matrix_layout, stride)
#define coopMatLoadSharedB(from, element, matrix_layout, stride, memory) \
  MatrixB(stage, element, matrix_layout, stride)
#define coopMatLoadSharedC(from, element, matrix_layout, stride, memory) emulated_c(stage, element, matrix_layout, stride)
#if defined(C_TILE)
#define coopMatStoreSharedC(to, element, x, matrix_layout, stride, memory, scope)           \
  for (uint own_ = 0, at_ = gl_SubgroupInvocationID; own_ < OWN_SUMS; ++own_, at_ += SUBGROUP_SIZE) \
    word_in(to[(element) + at_ / SHARED_WORDS], at_) = floatBitsToUint((x).own[own_])
#else
#define coopMatStoreSharedC(to, element, x, matrix_layout, stride, memory, scope)           \
  for (uint own_ = 0, at_ = gl_SubgroupInvocationID; own_ < OWN_SUMS; ++own_, at_ += SUBGROUP_SIZE) \
    to[(element) + at_] = (x).own[own_]
#endif
