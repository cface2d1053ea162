// A Vulkan program with kernels that `rooftile embed` wrote: C := 2 A B + C on the first device,
// beside float64. Exit code 0: right, 1: wrong, or something failed. It is C and C++.
#include <float.h>
#include <gemm_kernels.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { M = 200, N = 132, K = 312, BUFFERS = 4 };  // Rows of whole vectors: most kernels need them.

static void check(int failed, const char* what) {
  if (!failed) return;
  fprintf(stderr, "embedded: %s failed\n", what);
  exit(1);
}
static void check_status(rooftile_embed_status status, const char* what) {
  if (status == ROOFTILE_EMBED_OK) return;
  fprintf(stderr, "embedded: %s: %s\n", what, rooftile_embed_status_name(status));
  exit(1);
}

// A buffer that host and device share.
typedef struct Shared {
  rooftile_embed_place place;
  VkDeviceMemory memory;
  float* floats;
} Shared;

static Shared make_buffer(VkPhysicalDevice physical, VkDevice device, VkDeviceSize bytes) {
  Shared made;
  memset(&made, 0, sizeof made);
  made.place.bytes = bytes < 16 ? 16 : bytes;
  const VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                   VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
                                   VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  const VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                   NULL,
                                   0,
                                   made.place.bytes,
                                   usage,
                                   VK_SHARING_MODE_EXCLUSIVE,
                                   0,
                                   NULL};
  check(vkCreateBuffer(device, &info, NULL, &made.place.buffer), "vkCreateBuffer");
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device, made.place.buffer, &needs);
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(physical, &memory);
  const VkMemoryPropertyFlags shared =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  uint32_t type = 0;  // Vulkan promises one.
  while ((needs.memoryTypeBits >> type & 1) == 0 ||
         (memory.memoryTypes[type].propertyFlags & shared) != shared)
    ++type;
  const VkMemoryAllocateInfo allocate = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, NULL, needs.size,
                                         type};
  check(vkAllocateMemory(device, &allocate, NULL, &made.memory), "vkAllocateMemory");
  check(vkBindBufferMemory(device, made.place.buffer, made.memory, 0), "vkBindBufferMemory");
  check(vkMapMemory(device, made.memory, 0, VK_WHOLE_SIZE, 0, (void**)&made.floats), "vkMapMemory");
  return made;
}

static uint32_t compute_family(VkPhysicalDevice physical) {
  VkQueueFamilyProperties families[16];
  uint32_t count = 16, family = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
  while (family < count && !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT)) ++family;
  check(family == count, "finding a queue for compute");
  return family;
}

// Largest error of C, relative to the bound of float32 sums.
static double worst_error(const float* a, const float* b, const float* before, const float* after) {
  double worst = 0;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      double sum = before[i * N + j], magnitude = fabs(sum);
      for (int k = 0; k < K; ++k) {
        const double product = 2.0 * a[i * K + k] * b[k * N + j];
        sum += product;
        magnitude += fabs(product);
      }
      const double error = fabs(after[i * N + j] - sum) / (magnitude * (K + 4) * FLT_EPSILON / 2);
      if (!(error <= worst)) worst = error;  // Also NaN.
      if (isnan(worst)) return worst;
    }
  return worst;
}

int main(void) {
  // The program's own instance, device and queue, with what the kernels use.
  const VkApplicationInfo application = {
      VK_STRUCTURE_TYPE_APPLICATION_INFO, NULL, NULL, 0, NULL, 0, VK_API_VERSION_1_3};
  const VkInstanceCreateInfo instance_info = {
      VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, NULL, 0, &application, 0, NULL, 0, NULL};
  VkInstance instance;
  check(vkCreateInstance(&instance_info, NULL, &instance), "vkCreateInstance");
  VkPhysicalDevice physical;
  uint32_t count = 1;
  const VkResult listed = vkEnumeratePhysicalDevices(instance, &count, &physical);
  check(count == 0 || listed < 0, "finding a device");
  rooftile_embed_limits limits;
  check_status(rooftile_embed_get_limits(instance, application.apiVersion, physical, &limits),
               "reading the limits");
  rooftile_embed_requirements needs;
  rooftile_embed_get_requirements(&limits, &needs);
  const float priority = 1;
  const VkDeviceQueueCreateInfo queues = {
      VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, NULL, 0, compute_family(physical), 1, &priority};
  const VkDeviceCreateInfo device_info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                          needs.features,
                                          0,
                                          1,
                                          &queues,
                                          0,
                                          NULL,
                                          needs.extension_count,
                                          needs.extensions,
                                          NULL};
  VkDevice device;
  check(vkCreateDevice(physical, &device_info, NULL, &device), "vkCreateDevice");
  VkQueue queue;
  vkGetDeviceQueue(device, queues.queueFamilyIndex, 0, &queue);

  // The product, the kernel for it, and its workspace.
  rooftile_embed_problem problem = rooftile_embed_problem_of(ROOFTILE_EMBED_F32_NN, M, N, K);
  problem.alpha = 2;
  problem.beta = 1;
  rooftile_embed_choice choice;
  check_status(rooftile_embed_select(&limits, &problem, NULL, &choice), "choosing a kernel");
  Shared buffers[BUFFERS] = {make_buffer(physical, device, 4 * M * K),
                             make_buffer(physical, device, 4 * K * N),
                             make_buffer(physical, device, 4 * M * N),
                             make_buffer(physical, device, choice.workspace_bytes)};
  rooftile_embed_operands operands;
  memset(&operands, 0, sizeof operands);
  operands.a = buffers[0].place;
  operands.b = buffers[1].place;
  operands.c = buffers[2].place;
  operands.workspace = buffers[3].place;
  float* const c = buffers[2].floats;
  float* const before = (float*)malloc(sizeof *before * M * N);
  check(before == NULL, "malloc");
  for (int i = 0; i < M * K; ++i) buffers[0].floats[i] = (float)sin(i);
  for (int i = 0; i < K * N; ++i) buffers[1].floats[i] = (float)cos(i);
  for (int i = 0; i < M * N; ++i) before[i] = c[i] = (float)(i % 7);

  // Compiled once, recorded as often as wanted.
  rooftile_embed* embed;
  check_status(rooftile_embed_create(device, &limits, VK_NULL_HANDLE, &embed), "creating");
  check_status(rooftile_embed_prepare(embed, &choice), "compiling");
  const VkCommandPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, NULL, 0,
                                             queues.queueFamilyIndex};
  VkCommandPool pool;
  check(vkCreateCommandPool(device, &pool_info, NULL, &pool), "vkCreateCommandPool");
  const VkCommandBufferAllocateInfo allocate = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                NULL, pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
  VkCommandBuffer commands;
  check(vkAllocateCommandBuffers(device, &allocate, &commands), "vkAllocateCommandBuffers");
  const VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, NULL, 0,
                                          NULL};
  check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
  rooftile_embed_recording* recording;
  check_status(rooftile_embed_record(embed, commands, &choice, &problem, &operands, &recording),
               "recording");
  const VkMemoryBarrier written = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL,
                                   VK_ACCESS_SHADER_WRITE_BIT, VK_ACCESS_HOST_READ_BIT};
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                       0, 1, &written, 0, NULL, 0, NULL);
  check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
  const VkSubmitInfo submit = {
      VK_STRUCTURE_TYPE_SUBMIT_INFO, NULL, 0, NULL, NULL, 1, &commands, 0, NULL};
  check(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
  check(vkQueueWaitIdle(queue), "vkQueueWaitIdle");

  const double worst = worst_error(buffers[0].floats, buffers[1].floats, before, c);
  const rooftile_embed_description* const kernel = rooftile_embed_describe(choice.kernel);
  VkPhysicalDeviceProperties properties;
  vkGetPhysicalDeviceProperties(physical, &properties);
  printf("device: %s, %s\n", properties.deviceName,
         choice.is_tuned ? "measured" : "not measured for such a product");
  printf("kernel: %s, certified on %s\n", kernel->name, kernel->certificates);
  printf("C[0][0] = %.6f, largest error %.3f of its bound\n%s\n", c[0], worst,
         worst <= 1 ? "right" : "wrong");

  rooftile_embed_release(embed, recording);
  rooftile_embed_destroy(embed);
  vkDestroyCommandPool(device, pool, NULL);
  for (int i = 0; i < BUFFERS; ++i) {
    vkDestroyBuffer(device, buffers[i].place.buffer, NULL);
    vkFreeMemory(device, buffers[i].memory, NULL);
  }
  free(before);
  vkDestroyDevice(device, NULL);
  vkDestroyInstance(instance, NULL);
  return worst <= 1 ? 0 : 1;
}
