/// Rooftile inside a Vulkan program: GEMM on the program's own VkBuffers, recorded into its own
/// command buffers on its own device. No function declared here submits work, waits for the device,
/// or destroys objects of the program.
///
/// Order of calls. Call rooftile_vulkan_requirements_get before vkCreateDevice; then
/// rooftile_vulkan_open; then rooftile_vulkan_prepare for each GEMM, which compiles its pipelines
/// and returns the size of its workspace; then rooftile_vulkan_record into command buffers; and
/// rooftile_recording_release when the command buffers are no longer used.
///
/// Synchronisation. rooftile_vulkan_record assumes that earlier writes to A, B, C, the epilogue's
/// operands, scales and zero points, and earlier uses of the workspace, are available and visible
/// to the compute and transfer stages:
///   dstStageMask   VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT
///   dstAccessMask  VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
///                  VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT
/// No barrier follows the GEMM. C is written by
///   srcStageMask   VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT
///   srcAccessMask  VK_ACCESS_SHADER_WRITE_BIT
/// and the workspace by the compute and transfer stages, with VK_ACCESS_SHADER_WRITE_BIT and
/// VK_ACCESS_TRANSFER_WRITE_BIT. The program records a barrier between two GEMMs if one reads or
/// overwrites what the other wrote, or if they share a workspace. Barriers inside one GEMM are
/// recorded with it.
///
/// State. Recording binds compute pipelines, and descriptor set 0 and push constants of the compute
/// bind point, and nothing else. The command buffer must be in the recording state, outside a
/// render pass, and from a pool of the queue family that the context was opened with. It may be
/// primary or secondary, and may be submitted once or several times.
///
/// Buffers. They need VK_BUFFER_USAGE_STORAGE_BUFFER_BIT. _UNIFORM_TEXEL_BUFFER_BIT makes more
/// kernels legal. _TRANSFER_SRC_BIT is needed where scales and bias lie in different buffers. The
/// workspace needs _STORAGE_BUFFER_BIT | _UNIFORM_TEXEL_BUFFER_BIT | _TRANSFER_DST_BIT. Kernels
/// read 16-bit and 8-bit elements in words of 4 bytes, so a buffer that would end inside a word has
/// to be larger.
///
/// Long GEMMs. A long GEMM is recorded as several dispatches of at most a quarter of a second each.
/// Where the operating system's watchdog limits whole submissions, the program has to divide them.
#ifndef ROOFTILE_VULKAN_H_
#define ROOFTILE_VULKAN_H_

#include <rooftile/rooftile.h>
#include <vulkan/vulkan_core.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A Vulkan device that belongs to the program. It must outlive the context and everything made
/// with it.
typedef struct rooftile_vulkan_device {
  size_t struct_size;  ///< Set by the caller to sizeof(rooftile_vulkan_device).
  PFN_vkGetInstanceProcAddr get_instance_proc_addr;
  VkInstance instance;
  /// API version that the instance was created for (VkApplicationInfo), at least 1.1.
  uint32_t api_version;
  VkPhysicalDevice physical_device;
  VkDevice device;
  /// Structure that the device was created with. Kernels that need a feature which it does not
  /// enable are not chosen.
  const VkDeviceCreateInfo* create_info;
  uint32_t queue_family;  ///< Queue family with compute support.
  /// Queue for the buffers and calls of resident.h. With VK_NULL_HANDLE these are refused on this
  /// context. Otherwise they run on this queue, and the program either does not use the queue
  /// meanwhile or gives functions that lock it.
  VkQueue queue;
  void (*lock_queue)(void* user);
  void (*unlock_queue)(void* user);
  void* user;
} rooftile_vulkan_device;

/// Extensions and features to create a device with so that no kernel is ruled out. None of them is
/// required: Vulkan 1.1 and a queue family with compute support are. As far as the device offers
/// them, the structures may be
///   VkPhysicalDeviceFeatures2                         features.shaderFloat64
///   VkPhysicalDeviceSubgroupSizeControlFeatures       subgroupSizeControl, computeFullSubgroups
///   VkPhysicalDeviceShaderFloat16Int8Features         shaderFloat16, shaderInt8
///   VkPhysicalDeviceShaderAtomicFloatFeaturesEXT      shaderBufferFloat32Atomics, ...AtomicAdd
///   VkPhysicalDeviceShaderIntegerDotProductFeatures   shaderIntegerDotProduct
///   VkPhysicalDeviceVulkanMemoryModelFeatures         vulkanMemoryModel, ...DeviceScope
///   VkPhysicalDeviceCooperativeMatrixFeaturesKHR      cooperativeMatrix
///   VkPhysicalDeviceCooperativeMatrix2FeaturesNV      cooperativeMatrixWorkgroupScope,
///                                                     ...FlexibleDimensions, ...TensorAddressing
///   VkPhysicalDeviceShaderBfloat16FeaturesKHR         shaderBFloat16Type, ...CooperativeMatrix
/// A program with a VkPhysicalDeviceVulkan12Features or ...13Features of its own sets the same
/// members there, which are recognised as well.
typedef struct rooftile_vulkan_requirements {
  size_t struct_size;  ///< Set by the caller to sizeof(rooftile_vulkan_requirements).
  uint32_t extension_count;
  const char* const* extensions;  ///< Names of device extensions.
  /// Chain for VkDeviceCreateInfo::pNext. It begins with a VkPhysicalDeviceFeatures2 in which
  /// nothing but shaderFloat64 may be set.
  const void* features;
  void* owner;  ///< Internal owner of the memory above. Programs do not use it.
} rooftile_vulkan_requirements;

/// Fills *requirements, which the caller frees with rooftile_vulkan_requirements_free. Only
/// get_instance_proc_addr, instance, api_version and physical_device of *device are read.
ROOFTILE_API rooftile_status rooftile_vulkan_requirements_get(
    const rooftile_vulkan_device* device, rooftile_vulkan_requirements* requirements);
ROOFTILE_API void rooftile_vulkan_requirements_free(rooftile_vulkan_requirements* requirements);

/// Same as rooftile_open, for a device of the program. The context uses the kernels that were tuned
/// for the same device and driver. Without any it uses the plain kernel and those that are
/// certified in the background (resident.h), both checked on a device of the library's own. Calls
/// on host pointers run as on any context, not on the program's device.
///
/// Errors: those of rooftile_open, and INVALID_ARGUMENT, UNSUPPORTED, DEVICE_ERROR.
ROOFTILE_API rooftile_status rooftile_vulkan_open(const rooftile_options* options,
                                                  const rooftile_vulkan_device* device,
                                                  rooftile_context** context);

/// Start of an operand, like rooftile_place. `bytes` is the size of the whole buffer.
typedef struct rooftile_vulkan_place {
  VkBuffer buffer;
  VkDeviceSize bytes;
  int64_t offset;
} rooftile_vulkan_place;

/// The operands of a call, like rooftile_resident_operands.
typedef struct rooftile_vulkan_operands {
  size_t struct_size;  ///< Set by the caller to sizeof(rooftile_vulkan_operands).
  /// Usage flags that all buffers of A, B, C, the epilogue's operands, scales and zero points have
  /// in common.
  VkBufferUsageFlags usage;
  rooftile_vulkan_place a, b, c;
  rooftile_vulkan_place row_scale, column_scale, bias, residual;
  rooftile_vulkan_place scales, zero_points;
  /// Without a buffer, only kernels that need no workspace are recorded.
  rooftile_vulkan_place workspace;
  /// Limit of the workspace in bytes. 0 means up to the end of the workspace's buffer, or when
  /// preparing without a buffer a quarter of the device's memory.
  size_t workspace_bytes;
} rooftile_vulkan_operands;

/// Same as rooftile_resident_prepare; rooftile_vulkan_record itself does not wait for a
/// certificate. Recording the same GEMM with the same operands and a workspace of
/// prepared->workspace_bytes then uses the kernel that was chosen here.
ROOFTILE_API rooftile_status rooftile_vulkan_prepare(rooftile_context* context,
                                                     const rooftile_gemm_args* args,
                                                     const rooftile_vulkan_operands* operands,
                                                     rooftile_prepared* prepared);

/// Descriptor sets and pipelines that recorded commands use.
typedef struct rooftile_recording rooftile_recording;

/// Records the GEMM into `commands`, which the caller begins, ends and submits. The caller releases
/// *recording when no submission of the commands is pending and none will follow. After an error
/// other than INVALID_ARGUMENT and UNSUPPORTED the content of the command buffer is undefined:
/// reset it.
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
