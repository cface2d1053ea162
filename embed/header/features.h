#ifndef ROOFTILE_EMBED_FEATURES_
#define ROOFTILE_EMBED_FEATURES_
/* What kernels may use. A program clears what it does not enable on its VkDevice. */
enum {
  ROOFTILE_EMBED_FLOAT16 = 0x1,         /* shaderFloat16 */
  ROOFTILE_EMBED_INT8 = 0x2,            /* shaderInt8 */
  ROOFTILE_EMBED_ATOMIC_ADD = 0x4,      /* shaderBufferFloat32AtomicAdd */
  ROOFTILE_EMBED_DOT = 0x8,             /* shaderIntegerDotProduct */
  ROOFTILE_EMBED_SUBGROUP_SIZE = 0x10,  /* subgroupSizeControl */
  ROOFTILE_EMBED_FULL_SUBGROUPS = 0x20, /* computeFullSubgroups */
  ROOFTILE_EMBED_BALLOT = 0x40,         /* ballots of subgroups, which need no enabling */
  ROOFTILE_EMBED_MATRIX = 0x80,         /* cooperativeMatrix, vulkanMemoryModel, ...DeviceScope */
  ROOFTILE_EMBED_MATRIX_NV2 = 0x100,    /* cooperativeMatrixFlexibleDimensions */
  /* cooperativeMatrixWorkgroupScope, cooperativeMatrixTensorAddressing */
  ROOFTILE_EMBED_MATRIX_WORKGROUP = 0x200,
  ROOFTILE_EMBED_BFLOAT16_MATRIX = 0x400, /* shaderBFloat16Type, ...CooperativeMatrix */
  /* Clear it if A, B or the quantisation lie in buffers without
     VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT. */
  ROOFTILE_EMBED_TEXELS = 0x800
};
#endif
