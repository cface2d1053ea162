/* ---- What a device offers ---- */

/* Structures that are younger than Vulkan 1.3's first headers, by their layouts in the registry. */
typedef struct rte_flags {
  VkStructureType type;
  void* next;
  VkBool32 flags[8];
} rte_flags;
typedef struct rte_matrix { /* VkCooperativeMatrixPropertiesKHR */
  VkStructureType type;
  void* next;
  uint32_t m, n, k;
  int32_t a, b, c, result;
  VkBool32 saturating;
  int32_t scope;
} rte_matrix;
typedef struct rte_granularity { /* VkCooperativeMatrixFlexibleDimensionsPropertiesNV */
  VkStructureType type;
  void* next;
  uint32_t m, n, k;
  int32_t a, b, c, result;
  VkBool32 saturating;
  int32_t scope;
  uint32_t invocations;
} rte_granularity;
#define RTE_TYPE(number) ((VkStructureType)(number))
enum {
  RTE_MATRIX_FEATURES = 1000506000,
  RTE_MATRIX_PROPERTIES = 1000506001,
  RTE_MATRIX2_FEATURES = 1000593000,
  RTE_GRANULARITY = 1000593001,
  RTE_MATRIX2_PROPERTIES = 1000593002,
  RTE_BFLOAT16_FEATURES = 1000141000,
  RTE_BFLOAT16 = 1000141000, /* VkComponentTypeKHR */
  RTE_UINT8 = 7,
  RTE_UINT32 = 9,
  RTE_SCOPE_WORKGROUP = 2,
  RTE_SCOPE_SUBGROUP = 3,
  RTE_MOST_MATRICES = 1024
};

static int rte_is_extension(const VkExtensionProperties* extensions, uint32_t count,
                            const char* name) {
  for (uint32_t i = 0; i < count; ++i)
    if (strcmp(extensions[i].extensionName, name) == 0) return 1;
  return 0;
}

static int rte_is_multiple(int32_t size, uint32_t step, uint32_t most) {
  return step > 0 && (uint32_t)size % step == 0 && (uint32_t)size <= most;
}

/* The shapes of this header's kernels that the driver's lists have. */
static void rte_add_shapes(VkInstance instance, VkPhysicalDevice physical, int has_bfloat16,
                           int has_multiples, int has_workgroups, uint32_t most,
                           uint32_t most_invocations, rooftile_embed_limits* limits) {
  typedef VkResult(VKAPI_PTR * rte_list_function)(VkPhysicalDevice, uint32_t*, void*);
  static const char* const names[2] = {
      "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
      "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV"};
  for (int list = 0; list < (has_multiples ? 2 : 1); ++list) {
    rte_list_function get = (rte_list_function)vkGetInstanceProcAddr(instance, names[list]);
    const size_t size = list == 0 ? sizeof(rte_matrix) : sizeof(rte_granularity);
    uint32_t count = 0;
    if (get == NULL || get(physical, &count, NULL) != VK_SUCCESS || count == 0) continue;
    if (count > RTE_MOST_MATRICES) count = RTE_MOST_MATRICES;
    char* const entries = (char*)calloc(count, size);
    if (entries == NULL) continue;
    for (uint32_t i = 0; i < count; ++i)
      ((rte_granularity*)(void*)(entries + i * size))->type =
          RTE_TYPE(list == 0 ? RTE_MATRIX_PROPERTIES : RTE_GRANULARITY);
    const VkResult result = get(physical, &count, entries);
    for (uint32_t i = 0; i < count && (result == VK_SUCCESS || result == VK_INCOMPLETE); ++i) {
      /* Both structures begin alike. */
      const rte_granularity* const x = (const rte_granularity*)(const void*)(entries + i * size);
      if (x->a != x->b || x->c != x->result || x->saturating) continue;
      for (int shape = 0; shape < RTE_SHAPES; ++shape) {
        const rte_shape* const wanted = &rte_shapes[shape];
        const int in_workgroup = wanted->invocations > 0;
        /* Sums of unsigned bytes are unsigned there, with the same bits. */
        const int32_t sum = wanted->operand == RTE_UINT8 ? RTE_UINT32 : wanted->sum;
        if (x->a != wanted->operand || x->c != sum) continue;
        if (wanted->operand == RTE_BFLOAT16 && !has_bfloat16) continue;
        if (x->scope != (in_workgroup ? RTE_SCOPE_WORKGROUP : RTE_SCOPE_SUBGROUP)) continue;
        if (in_workgroup &&
            (list == 0 || !has_workgroups || x->invocations != (uint32_t)wanted->invocations ||
             x->invocations > most_invocations))
          continue;
        if (list == 0 ? (uint32_t)wanted->m == x->m && (uint32_t)wanted->n == x->n &&
                            (uint32_t)wanted->k == x->k
                      : rte_is_multiple(wanted->m, x->m, most) &&
                            rte_is_multiple(wanted->n, x->n, most) &&
                            rte_is_multiple(wanted->k, x->k, most))
          *(list == 0 ? &limits->matrix_shapes : &limits->multiple_shapes) |= (uint64_t)1 << shape;
      }
    }
    free(entries);
  }
}

static void rte_chain(void** end, void* structure) {
  memcpy((char*)structure + offsetof(VkBaseOutStructure, pNext), end, sizeof *end);
  *end = structure;
}

rooftile_embed_status rooftile_embed_get_limits(VkInstance instance, uint32_t api_version,
                                                VkPhysicalDevice physical,
                                                rooftile_embed_limits* limits) {
  VkPhysicalDeviceProperties2 properties;
  VkPhysicalDeviceSubgroupProperties subgroup;
  VkPhysicalDeviceMaintenance3Properties allocation;
  VkPhysicalDeviceDriverProperties driver;
  VkPhysicalDeviceSubgroupSizeControlProperties sizes;
  VkPhysicalDeviceMaintenance4Properties buffer;
  VkPhysicalDeviceFeatures2 features;
  VkPhysicalDeviceSubgroupSizeControlFeatures size_features;
  VkPhysicalDeviceShaderFloat16Int8Features small;
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomics;
  VkPhysicalDeviceShaderIntegerDotProductFeatures dot;
  VkPhysicalDeviceVulkanMemoryModelFeatures memory_model;
  rte_flags matrix, matrix2, bfloat16, matrix2_properties;
  if (instance == VK_NULL_HANDLE || physical == VK_NULL_HANDLE || limits == NULL)
    return ROOFTILE_EMBED_NULL_ARGUMENT;
  memset(limits, 0, sizeof *limits);
  VkPhysicalDeviceProperties first;
  vkGetPhysicalDeviceProperties(physical, &first);
  const uint32_t api = api_version < first.apiVersion ? api_version : first.apiVersion;
  if (api < VK_API_VERSION_1_1) return ROOFTILE_EMBED_UNSUPPORTED_DEVICE;
  uint32_t count = 0;
  if (vkEnumerateDeviceExtensionProperties(physical, NULL, &count, NULL) != VK_SUCCESS) count = 0;
  VkExtensionProperties* const extensions =
      (VkExtensionProperties*)calloc(count > 0 ? count : 1, sizeof(VkExtensionProperties));
  if (extensions == NULL) return ROOFTILE_EMBED_OUT_OF_MEMORY;
  const VkResult listed =
      count == 0 ? VK_SUCCESS
                 : vkEnumerateDeviceExtensionProperties(physical, NULL, &count, extensions);
  if (listed != VK_SUCCESS && listed != VK_INCOMPLETE) count = 0;
#define RTE_OFFERS(since, name) (api >= (since) || rte_is_extension(extensions, count, name))
  const int has_driver = RTE_OFFERS(VK_API_VERSION_1_2, "VK_KHR_driver_properties"),
            has_sizes = RTE_OFFERS(VK_API_VERSION_1_3, "VK_EXT_subgroup_size_control"),
            has_buffer = RTE_OFFERS(VK_API_VERSION_1_3, "VK_KHR_maintenance4"),
            has_small = RTE_OFFERS(VK_API_VERSION_1_2, "VK_KHR_shader_float16_int8"),
            has_dot = RTE_OFFERS(VK_API_VERSION_1_3, "VK_KHR_shader_integer_dot_product"),
            has_atomics = rte_is_extension(extensions, count, "VK_EXT_shader_atomic_float"),
            has_matrix = api >= VK_API_VERSION_1_2 &&
                         rte_is_extension(extensions, count, "VK_KHR_cooperative_matrix"),
            has_matrix2 =
                has_matrix && rte_is_extension(extensions, count, "VK_NV_cooperative_matrix2"),
            has_bfloat16 =
                has_matrix && rte_is_extension(extensions, count, "VK_KHR_shader_bfloat16");
#undef RTE_OFFERS
  free(extensions);

#define RTE_CLEAR_AS(structure, number) \
  (memset(&(structure), 0, sizeof(structure)), *(VkStructureType*)&(structure) = RTE_TYPE(number))
  void* end = NULL;
  RTE_CLEAR_AS(properties, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  RTE_CLEAR_AS(subgroup, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
  RTE_CLEAR_AS(allocation, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
  RTE_CLEAR_AS(driver, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
  RTE_CLEAR_AS(sizes, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
  RTE_CLEAR_AS(buffer, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES);
  RTE_CLEAR_AS(matrix2_properties, RTE_MATRIX2_PROPERTIES);
  rte_chain(&end, &subgroup);
  rte_chain(&end, &allocation);
  if (has_driver) rte_chain(&end, &driver);
  if (has_sizes) rte_chain(&end, &sizes);
  if (has_buffer) rte_chain(&end, &buffer);
  if (has_matrix2) rte_chain(&end, &matrix2_properties);
  properties.pNext = end;
  vkGetPhysicalDeviceProperties2(physical, &properties);
  end = NULL;
  RTE_CLEAR_AS(features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  RTE_CLEAR_AS(size_features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
  RTE_CLEAR_AS(small, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES);
  RTE_CLEAR_AS(atomics, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT);
  RTE_CLEAR_AS(dot, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES);
  RTE_CLEAR_AS(memory_model, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES);
  RTE_CLEAR_AS(matrix, RTE_MATRIX_FEATURES);
  RTE_CLEAR_AS(matrix2, RTE_MATRIX2_FEATURES);
  RTE_CLEAR_AS(bfloat16, RTE_BFLOAT16_FEATURES);
#undef RTE_CLEAR_AS
  if (has_sizes) rte_chain(&end, &size_features);
  if (has_small) rte_chain(&end, &small);
  if (has_atomics) rte_chain(&end, &atomics);
  if (has_dot) rte_chain(&end, &dot);
  if (has_matrix) rte_chain(&end, &memory_model);
  if (has_matrix) rte_chain(&end, &matrix);
  if (has_matrix2) rte_chain(&end, &matrix2);
  if (has_bfloat16) rte_chain(&end, &bfloat16);
  features.pNext = end;
  vkGetPhysicalDeviceFeatures2(physical, &features);

  const VkPhysicalDeviceLimits* const vulkan = &properties.properties.limits;
  limits->vendor_id = first.vendorID;
  limits->product_id = first.deviceID;
  limits->driver_id = (uint32_t)driver.driverID;
  limits->driver_version = first.driverVersion;
  limits->api_version = api;
  limits->max_workgroup_invocations = vulkan->maxComputeWorkGroupInvocations;
  for (int i = 0; i < 3; ++i) {
    limits->max_workgroup_size[i] = vulkan->maxComputeWorkGroupSize[i];
    limits->max_workgroup_count[i] = vulkan->maxComputeWorkGroupCount[i];
  }
  limits->shared_memory_bytes = vulkan->maxComputeSharedMemorySize;
  limits->max_push_constants_bytes = vulkan->maxPushConstantsSize;
  limits->max_storage_bindings = vulkan->maxPerStageDescriptorStorageBuffers;
  limits->max_texel_bindings = vulkan->maxPerStageDescriptorSampledImages;
  limits->max_storage_range_bytes = vulkan->maxStorageBufferRange;
  limits->max_texel_elements = vulkan->maxTexelBufferElements;
  limits->max_allocation_bytes = allocation.maxMemoryAllocationSize;
  if (buffer.maxBufferSize != 0 && buffer.maxBufferSize < limits->max_allocation_bytes)
    limits->max_allocation_bytes = buffer.maxBufferSize;
  limits->alignment_bytes = 16;
  if (vulkan->minStorageBufferOffsetAlignment > limits->alignment_bytes)
    limits->alignment_bytes = (uint32_t)vulkan->minStorageBufferOffsetAlignment;
  if (vulkan->minTexelBufferOffsetAlignment > limits->alignment_bytes)
    limits->alignment_bytes = (uint32_t)vulkan->minTexelBufferOffsetAlignment;
  /* llvmpipe silently leaves loops after so many iterations of an invocation in all. */
  if (driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE) limits->max_loop_trips = 65535;

  const uint32_t size = subgroup.subgroupSize;
  const int has_subgroups = size > 0 && size <= 128 && (size & (size - 1)) == 0;
  limits->subgroup_size = limits->min_subgroup_size = limits->max_subgroup_size =
      has_subgroups ? size : 1;
  if (has_subgroups && (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
      (subgroup.supportedOperations & VK_SUBGROUP_FEATURE_BALLOT_BIT) != 0)
    limits->features |= ROOFTILE_EMBED_BALLOT;
  if (has_subgroups && size_features.subgroupSizeControl &&
      (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
      sizes.minSubgroupSize > 0 && sizes.maxSubgroupSize <= 128) {
    limits->features |= ROOFTILE_EMBED_SUBGROUP_SIZE;
    if (size_features.computeFullSubgroups) limits->features |= ROOFTILE_EMBED_FULL_SUBGROUPS;
    limits->min_subgroup_size = sizes.minSubgroupSize;
    limits->max_subgroup_size = sizes.maxSubgroupSize;
    limits->max_workgroup_subgroups = sizes.maxComputeWorkgroupSubgroups;
  }
  if (small.shaderFloat16) limits->features |= ROOFTILE_EMBED_FLOAT16;
  if (small.shaderInt8) limits->features |= ROOFTILE_EMBED_INT8;
  if (atomics.shaderBufferFloat32AtomicAdd) limits->features |= ROOFTILE_EMBED_ATOMIC_ADD;
  if (dot.shaderIntegerDotProduct) limits->features |= ROOFTILE_EMBED_DOT;
  /* Every Vulkan device has the formats of texels that kernels use. */
  limits->features |= ROOFTILE_EMBED_TEXELS;
  if (!has_matrix || !matrix.flags[0] || !memory_model.vulkanMemoryModel ||
      !memory_model.vulkanMemoryModelDeviceScope)
    return ROOFTILE_EMBED_OK;
  const int has_bf16 = has_bfloat16 && bfloat16.flags[0] && bfloat16.flags[2];
  /* Workgroup scope, flexible dimensions, reductions, conversions, per-element, tensor addressing.
   */
  const int has_multiples = has_matrix2 && matrix2.flags[1];
  const int has_workgroups =
      has_multiples && matrix2.flags[0] && matrix2.flags[5] && api >= VK_API_VERSION_1_3;
  limits->features |= ROOFTILE_EMBED_MATRIX;
  if (has_bf16) limits->features |= ROOFTILE_EMBED_BFLOAT16_MATRIX;
  if (has_multiples) limits->features |= ROOFTILE_EMBED_MATRIX_NV2;
  if (has_workgroups) limits->features |= ROOFTILE_EMBED_MATRIX_WORKGROUP;
  limits->reserved_shared_bytes = matrix2_properties.flags[2];
  rte_add_shapes(instance, physical, has_bf16, has_multiples, has_workgroups,
                 matrix2_properties.flags[1] < 1024 ? matrix2_properties.flags[1] : 1024,
                 matrix2_properties.flags[0], limits);
  return ROOFTILE_EMBED_OK;
}

void rooftile_embed_get_requirements(const rooftile_embed_limits* limits,
                                     rooftile_embed_requirements* requirements) {
  typedef struct rte_features {
    VkPhysicalDeviceSubgroupSizeControlFeatures sizes;
    VkPhysicalDeviceShaderFloat16Int8Features small;
    VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomics;
    VkPhysicalDeviceShaderIntegerDotProductFeatures dot;
    VkPhysicalDeviceVulkanMemoryModelFeatures memory_model;
    rte_flags matrix, matrix2, bfloat16;
  } rte_features;
  typedef char rte_has_room[sizeof(rte_features) <= sizeof requirements->rte_chain ? 1 : -1];
  if (limits == NULL || requirements == NULL) return;
  (void)sizeof(rte_has_room);
  memset(requirements, 0, sizeof *requirements);
  const uint32_t wanted = limits->features & RTE_FEATURES;
  rte_features* const made = (rte_features*)(void*)requirements->rte_chain;
  if (wanted & (ROOFTILE_EMBED_SUBGROUP_SIZE | ROOFTILE_EMBED_FULL_SUBGROUPS)) {
    if (limits->api_version < VK_API_VERSION_1_3)
      requirements->extensions[requirements->extension_count++] = "VK_EXT_subgroup_size_control";
    made->sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
    made->sizes.subgroupSizeControl = (wanted & ROOFTILE_EMBED_SUBGROUP_SIZE) != 0;
    made->sizes.computeFullSubgroups = (wanted & ROOFTILE_EMBED_FULL_SUBGROUPS) != 0;
    rte_chain(&requirements->features, &made->sizes);
  }
  if (wanted & (ROOFTILE_EMBED_FLOAT16 | ROOFTILE_EMBED_INT8)) {
    if (limits->api_version < VK_API_VERSION_1_2)
      requirements->extensions[requirements->extension_count++] = "VK_KHR_shader_float16_int8";
    made->small.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
    made->small.shaderFloat16 = (wanted & ROOFTILE_EMBED_FLOAT16) != 0;
    made->small.shaderInt8 = (wanted & ROOFTILE_EMBED_INT8) != 0;
    rte_chain(&requirements->features, &made->small);
  }
  if (wanted & ROOFTILE_EMBED_ATOMIC_ADD) {
    requirements->extensions[requirements->extension_count++] = "VK_EXT_shader_atomic_float";
    made->atomics.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT;
    made->atomics.shaderBufferFloat32Atomics = made->atomics.shaderBufferFloat32AtomicAdd = VK_TRUE;
    rte_chain(&requirements->features, &made->atomics);
  }
  if (wanted & ROOFTILE_EMBED_DOT) {
    if (limits->api_version < VK_API_VERSION_1_3)
      requirements->extensions[requirements->extension_count++] =
          "VK_KHR_shader_integer_dot_product";
    made->dot.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES;
    made->dot.shaderIntegerDotProduct = VK_TRUE;
    rte_chain(&requirements->features, &made->dot);
  }
  if (wanted & ROOFTILE_EMBED_MATRIX) {
    requirements->extensions[requirements->extension_count++] = "VK_KHR_cooperative_matrix";
    made->memory_model.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES;
    made->memory_model.vulkanMemoryModel = VK_TRUE;
    /* With that model other kernels' atomic operations need this. */
    made->memory_model.vulkanMemoryModelDeviceScope = VK_TRUE;
    rte_chain(&requirements->features, &made->memory_model);
    made->matrix.type = RTE_TYPE(RTE_MATRIX_FEATURES);
    made->matrix.flags[0] = VK_TRUE;
    rte_chain(&requirements->features, &made->matrix);
  }
  if (wanted & ROOFTILE_EMBED_MATRIX_NV2) {
    requirements->extensions[requirements->extension_count++] = "VK_NV_cooperative_matrix2";
    made->matrix2.type = RTE_TYPE(RTE_MATRIX2_FEATURES);
    made->matrix2.flags[1] = VK_TRUE;
    made->matrix2.flags[0] = made->matrix2.flags[5] =
        (wanted & ROOFTILE_EMBED_MATRIX_WORKGROUP) != 0;
    rte_chain(&requirements->features, &made->matrix2);
  }
  if (wanted & ROOFTILE_EMBED_BFLOAT16_MATRIX) {
    requirements->extensions[requirements->extension_count++] = "VK_KHR_shader_bfloat16";
    made->bfloat16.type = RTE_TYPE(RTE_BFLOAT16_FEATURES);
    made->bfloat16.flags[0] = made->bfloat16.flags[2] = VK_TRUE;
    rte_chain(&requirements->features, &made->bfloat16);
  }
}
