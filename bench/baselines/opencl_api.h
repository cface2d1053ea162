// Functions of OpenCL 1.2 and of CLBlast that the baseline calls. Signatures and numbers are those
// of their ABI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace rooftile::opencl {

using Status = std::int32_t;  // 0 is success; CLBlast's codes lie in the same range.
inline constexpr Status kAllocationFailure = -4, kOutOfResources = -5, kOutOfHostMemory = -6,
                        kBuildFailure = -11, kNotImplemented = -1024, kNoHalfPrecision = -2045,
                        kNoLocalMemory = -2046;

using Platform = struct PlatformTag*;
using Device = struct DeviceTag*;
using Context = struct ContextTag*;
using Queue = struct QueueTag*;
using Memory = struct MemoryTag*;
using Event = struct EventTag*;

inline constexpr std::uint64_t kCpu = 2, kGpu = 4, kAnyDevice = 0xffffffff;  // cl_device_type
inline constexpr std::uint32_t kDeviceType = 0x1000, kDeviceName = 0x102b, kDriverVersion = 0x102d,
                               kDeviceVersion = 0x102f,
                               kDeviceUuid = 0x106a;  // Vulkan's, from cl_khr_device_uuid
inline constexpr std::uint64_t kProfilingQueue = 2, kReadWrite = 1;
inline constexpr std::uint32_t kCommandEnd = 0x1283;  // for clGetEventProfilingInfo
inline constexpr std::uint32_t kTrue = 1;
inline constexpr Status kComplete = 0;  // status of a finished event

/// libOpenCL.so.1, the loader of the installed drivers.
struct Loader {
  Loader();  // Throws kUnsupported when the library is missing.

  Status (*platforms)(std::uint32_t entries, Platform* platforms, std::uint32_t* count);
  Status (*devices)(Platform platform, std::uint64_t type, std::uint32_t entries, Device* devices,
                    std::uint32_t* count);
  Status (*device_info)(Device device, std::uint32_t name, std::size_t bytes, void* value,
                        std::size_t* value_bytes);
  Context (*create_context)(const std::intptr_t* properties, std::uint32_t count,
                            const Device* devices,
                            void (*notify)(const char*, const void*, std::size_t, void*),
                            void* data, Status* status);
  Status (*release_context)(Context context);
  Queue (*create_queue)(Context context, Device device, std::uint64_t properties, Status* status);
  Status (*release_queue)(Queue queue);
  Status (*finish)(Queue queue);
  Status (*flush)(Queue queue);
  Memory (*create_buffer)(Context context, std::uint64_t flags, std::size_t bytes, void* host,
                          Status* status);
  Status (*release_memory)(Memory memory);
  Status (*write_buffer)(Queue queue, Memory memory, std::uint32_t blocking, std::size_t offset,
                         std::size_t bytes, const void* source, std::uint32_t waits,
                         const Event* wait_for, Event* event);
  Status (*read_buffer)(Queue queue, Memory memory, std::uint32_t blocking, std::size_t offset,
                        std::size_t bytes, void* target, std::uint32_t waits, const Event* wait_for,
                        Event* event);
  Event (*create_user_event)(Context context, Status* status);
  Status (*set_user_event)(Event event, Status status);
  Status (*enqueue_marker)(Queue queue, std::uint32_t waits, const Event* wait_for, Event* event);
  Status (*profiling_info)(Event event, std::uint32_t name, std::size_t bytes, void* value,
                           std::size_t* value_bytes);
  Status (*release_event)(Event event);
};

enum Layout : int { kRowMajor = 101 };
enum Transpose : int { kAsStored = 111, kTransposed = 112 };

/// alpha and beta are float, or the bits of a half.
template <typename Scalar>
using Gemm = Status(Layout layout, Transpose trans_a, Transpose trans_b, std::size_t m,
                    std::size_t n, std::size_t k, Scalar alpha, Memory a, std::size_t offset_a,
                    std::size_t lda, Memory b, std::size_t offset_b, std::size_t ldb, Scalar beta,
                    Memory c, std::size_t offset_c, std::size_t ldc, Queue* queue, Event* event);
template <typename Scalar>
using GemmStridedBatched = Status(Layout layout, Transpose trans_a, Transpose trans_b,
                                  std::size_t m, std::size_t n, std::size_t k, Scalar alpha,
                                  Memory a, std::size_t offset_a, std::size_t lda,
                                  std::size_t stride_a, Memory b, std::size_t offset_b,
                                  std::size_t ldb, std::size_t stride_b, Scalar beta, Memory c,
                                  std::size_t offset_c, std::size_t ldc, std::size_t stride_c,
                                  std::size_t batch, Queue* queue, Event* event);

struct Clblast {
  /// Loads the library at a path; "" means libclblast.so.1. Throws kUnsupported when it cannot be
  /// loaded.
  explicit Clblast(const std::string& path);

  std::string file;
  Gemm<float>* sgemm;
  Gemm<std::uint16_t>* hgemm;
  GemmStridedBatched<float>* sgemm_batched;
  GemmStridedBatched<std::uint16_t>* hgemm_batched;
  Status (*clear_cache)();  // Clears compiled kernels, which keep the context alive.
};

}  // namespace rooftile::opencl
