/* Rooftile inside of a Vulkan program: products on the program's own VkBuffers, recorded into its
 * own command buffers on its own device. Nothing of what is declared here submits anything, waits
 * for the device, or destroys what belongs to the program.
 *
 * In short: rooftile_vulkan_requirements_get before vkCreateDevice; rooftile_vulkan_open;
 * rooftile_vulkan_prepare for each product, which compiles its pipelines and tells the workspace;
 * rooftile_vulkan_record into command buffers; rooftile_recording_release when these are done with.
 *
 * Synchronisation. rooftile_vulkan_record assumes that whatever was written to A, B, C, the
 * epilogue's operands, scales and zero points before, and whatever used the workspace before, is
 * available and visible to the compute and transfer stages: dstStageMask
 * VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT dstAccessMask
 * VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
 * VK_ACCESS_TRANSFER_WRITE_BIT Behind the product there is no barrier: C is written by srcStageMask
 * VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT srcAccessMask VK_ACCESS_SHADER_WRITE_BIT and the workspace
 * by the compute and transfer stages, with VK_ACCESS_SHADER_WRITE_BIT and
 * VK_ACCESS_TRANSFER_WRITE_BIT. Between two products of which one reads, or writes again, what the
 * other wrote, or which share a workspace, a barrier from these to those is the program's. Barriers
 * inside of a product are recorded with it.
 *
 * State. Recording binds compute pipelines, descriptor set 0 and push constants of the compute bind
 * point, and nothing else. The command buffer is in the recording state, outside of a render pass,
 * of a pool of the queue family that the context was opened with; primary or secondary, submitted
 * once or several times.
 *
 * Buffers are created with VK_BUFFER_USAGE_STORAGE_BUFFER_BIT. With _UNIFORM_TEXEL_BUFFER_BIT more
 * kernels are legal; _TRANSFER_SRC_BIT is needed where scales and bias lie in different buffers,
 * and the workspace takes _STORAGE_BUFFER_BIT | _UNIFORM_TEXEL_BUFFER_BIT | _TRANSFER_DST_BIT.
 * Kernels read 16 and 8-bit elements by words of 4 bytes: a buffer that ends inside of a word has
 * to be larger.
 *
 * A product that takes long is recorded as several dispatches of at most a quarter of a second
 * each; where the operating system's watchdog looks at whole submissions, dividing them is the
 * program's. */
#ifndef ROOFTILE_VULKAN_H_
#define ROOFTILE_VULKAN_H_

#include <rooftile/rooftile.h>
#include <vulkan/vulkan_core.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A device of the program's own. It outlives the context and everything made with it. */
typedef struct rooftile_vulkan_device {
  size_t struct_size; /* sizeof(rooftile_vulkan_device) */
  PFN_vkGetInstanceProcAddr get_instance_proc_addr;
  VkInstance instance;
  uint32_t api_version; /* that instance was made for (VkApplicationInfo); 1.1 at least */
  VkPhysicalDevice physical_device;
  VkDevice device;
  const VkDeviceCreateInfo* create_info; /* that device was made with: kernels that need a feature
                                            which it does not enable are not chosen */
  uint32_t queue_family;                 /* with compute */
  /* VK_NULL_HANDLE: buffers and products of resident.h are refused on this context. Else they run
   * on this queue, and the program does not use it meanwhile, or gives functions that keep others
   * away while it is used. */
  VkQueue queue;
  void (*lock_queue)(void* user);
  void (*unlock_queue)(void* user);
  void* user;
} rooftile_vulkan_device;

/* What to make a device with so that no kernel is left out. None of it is required: Vulkan 1.1 and
 * a queue family with compute are. The structures may be
 *     VkPhysicalDeviceSubgroupSizeControlFeatures       subgroupSizeControl, computeFullSubgroups
 *     VkPhysicalDeviceShaderFloat16Int8Features         shaderFloat16, shaderInt8
 *     VkPhysicalDeviceShaderAtomicFloatFeaturesEXT      shaderBufferFloat32Atomics, ...AtomicAdd
 *     VkPhysicalDeviceShaderIntegerDotProductFeatures   shaderIntegerDotProduct
 *     VkPhysicalDeviceVulkanMemoryModelFeatures         vulkanMemoryModel
 *     VkPhysicalDeviceCooperativeMatrixFeaturesKHR      cooperativeMatrix
 *     VkPhysicalDeviceCooperativeMatrix2FeaturesNV      cooperativeMatrixWorkgroupScope,
 *                                                       ...FlexibleDimensions, ...TensorAddressing
 *     VkPhysicalDeviceShaderBfloat16FeaturesKHR         shaderBFloat16Type, ...CooperativeMatrix
 * as far as the device offers them. A program with a VkPhysicalDeviceVulkan12Features or
 * ...13Features of its own sets the same members there, which are recognised as well. */
typedef struct rooftile_vulkan_requirements {
  size_t struct_size; /* set by the caller to sizeof(rooftile_vulkan_requirements) */
  uint32_t extension_count;
  const char* const* extensions; /* of the device */
  const void* features;          /* for VkDeviceCreateInfo::pNext; begins with a
                                    VkPhysicalDeviceFeatures2 in which nothing is set */
  void* owner;                   /* of the memory above; the library's own */
} rooftile_vulkan_requirements;

/* Reads get_instance_proc_addr, instance, api_version and physical_device. */
ROOFTILE_API rooftile_status rooftile_vulkan_requirements_get(
    const rooftile_vulkan_device* device, rooftile_vulkan_requirements* requirements);
ROOFTILE_API void rooftile_vulkan_requirements_free(rooftile_vulkan_requirements* requirements);

/* As rooftile_open, for a device of the program's own: with the kernels that were tuned for the
 * same device and driver, else with the plain one (resident.h), which is checked on a device of the
 * library's own. Products on host pointers run as on any context, not on the program's device.
 * Besides what rooftile_open says: INVALID_ARGUMENT, UNSUPPORTED, DEVICE_ERROR. */
ROOFTILE_API rooftile_status rooftile_vulkan_open(const rooftile_options* options,
                                                  const rooftile_vulkan_device* device,
                                                  rooftile_context** context);

/* As rooftile_place. bytes: of the whole buffer. */
typedef struct rooftile_vulkan_place {
  VkBuffer buffer;
  VkDeviceSize bytes;
  int64_t offset;
} rooftile_vulkan_place;

/* As rooftile_resident_operands. */
typedef struct rooftile_vulkan_operands {
  size_t struct_size;       /* sizeof(rooftile_vulkan_operands) */
  VkBufferUsageFlags usage; /* that all of A, B, C, the epilogue's operands, scales and zero points
                               were created with */
  rooftile_vulkan_place a, b, c;
  rooftile_vulkan_place row_scale, column_scale, bias, residual;
  rooftile_vulkan_place scales, zero_points;
  rooftile_vulkan_place workspace; /* no buffer: only kernels that take none are recorded */
  /* At most so many bytes. 0: to the end of the workspace's buffer; when preparing without one, a
   * quarter of the device's memory. */
  size_t workspace_bytes;
} rooftile_vulkan_operands;

/* As rooftile_resident_prepare. Recording the same product at the same places with a workspace of
 * prepared->workspace_bytes then uses the kernel that was chosen here. */
ROOFTILE_API rooftile_status rooftile_vulkan_prepare(rooftile_context* context,
                                                     const rooftile_gemm_args* args,
                                                     const rooftile_vulkan_operands* operands,
                                                     rooftile_prepared* prepared);

/* What recorded commands use: descriptor sets, pipelines. */
typedef struct rooftile_recording rooftile_recording;

/* Records the product into commands, which the caller begins, ends and submits. *recording is to be
 * released when no submission of them is pending and none will follow. After an error other than
 * INVALID_ARGUMENT and UNSUPPORTED nobody can tell what commands hold: reset them. */
ROOFTILE_API rooftile_status rooftile_vulkan_record(rooftile_context* context,
                                                    const rooftile_gemm_args* args,
                                                    const rooftile_vulkan_operands* operands,
                                                    VkCommandBuffer commands,
                                                    rooftile_recording** recording);
ROOFTILE_API rooftile_status rooftile_recording_release(rooftile_recording* recording);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ROOFTILE_VULKAN_H_ */
