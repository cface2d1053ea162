// Functions of the CUDA driver and of cuBLAS that the baseline calls. Signatures and numbers are
// those of their ABI, which is the same in CUDA 11 to 13.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace rooftile::cuda {

using Status = int;                           // CUresult, cublasStatus_t: 0 is success
inline constexpr Status kOutOfMemory = 2;     // CUresult
inline constexpr Status kNoDevice = 100;      // CUresult
inline constexpr Status kNotInitialized = 1;  // cublasStatus_t
inline constexpr Status kAllocFailed = 3;     // cublasStatus_t
inline constexpr Status kInvalidValue = 7;    // cublasStatus_t
inline constexpr Status kNotSupported = 15;   // cublasStatus_t

using Device = int;
using Context = struct ContextTag*;
using Stream = struct StreamTag*;
using Event = struct EventTag*;
using Memory = unsigned long long;  // Address on the device.
using Uuid = std::array<unsigned char, 16>;
using Handle = struct HandleTag*;

inline constexpr unsigned kNonBlockingStream = 1;

/// libcuda.so.1, which the NVIDIA driver installs.
struct Driver {
  Driver();  // Throws kUnsupported when the library is missing.

  Status (*init)(unsigned flags);
  Status (*driver_version)(int* version);  // 1000 * major + 10 * minor
  Status (*error_string)(Status status, const char** text);
  Status (*device_count)(int* count);
  Status (*device_get)(Device* device, int ordinal);
  Status (*device_name)(char* name, int bytes, Device device);
  Status (*device_uuid)(Uuid* uuid, Device device);
  Status (*retain_primary_context)(Context* context, Device device);
  Status (*release_primary_context)(Device device);
  Status (*set_current)(Context context);
  Status (*stream_create)(Stream* stream, unsigned flags);
  Status (*stream_destroy)(Stream stream);
  Status (*stream_synchronize)(Stream stream);
  Status (*launch_host_function)(Stream stream, void (*function)(void*), void* data);
  Status (*memory_allocate)(Memory* memory, std::size_t bytes);
  Status (*memory_free)(Memory memory);
  Status (*memory_fill)(Memory memory, unsigned char byte, std::size_t bytes);
  Status (*copy_to_device)(Memory target, const void* source, std::size_t bytes);
  Status (*copy_to_host)(void* target, Memory source, std::size_t bytes);
  Status (*event_create)(Event* event, unsigned flags);
  Status (*event_destroy)(Event event);
  Status (*event_record)(Event event, Stream stream);
  Status (*event_elapsed_ms)(float* ms, Event start, Event end);  // in steps of about 0.5 us
};

// cudaDataType, cublasComputeType_t, cublasOperation_t, cublasMath_t, cublasGemmAlgo_t.
enum DataType : int { kF32 = 0, kF64 = 1, kF16 = 2, kI8 = 3, kI32 = 10, kBf16 = 14 };
// kSumTf32: operands are rounded to 11 bits.
enum ComputeType : int { kSumF16 = 64, kSumF32 = 68, kSumF64 = 70, kSumI32 = 72, kSumTf32 = 77 };
enum Operation : int { kAsStored = 0, kTransposed = 1 };
inline constexpr int kDefaultMath = 0, kNoReducedPrecisionReduction = 16;
inline constexpr int kDefaultAlgorithm = -1;

struct Cublas {
  /// Loads the library at a path. For "" it tries $CUBLAS_LIBRARY, then libcublas.so of CUDA 13,
  /// 12 and 11. Throws kUnsupported when none can be loaded.
  explicit Cublas(const std::string& path);

  std::string file;
  Status (*create)(Handle* handle);
  Status (*destroy)(Handle handle);
  Status (*version)(Handle handle, int* version);  // 10000 * major + 100 * minor + patch
  Status (*set_stream)(Handle handle, Stream stream);
  Status (*set_math_mode)(Handle handle, int mode);
  // Matrices are column-major; alpha and beta have the compute type.
  Status (*gemm)(Handle handle, Operation trans_a, Operation trans_b, int m, int n, int k,
                 const void* alpha, Memory a, DataType type_a, int lda, Memory b, DataType type_b,
                 int ldb, const void* beta, Memory c, DataType type_c, int ldc, ComputeType compute,
                 int algorithm);
  Status (*gemm_strided_batched)(Handle handle, Operation trans_a, Operation trans_b, int m, int n,
                                 int k, const void* alpha, Memory a, DataType type_a, int lda,
                                 long long stride_a, Memory b, DataType type_b, int ldb,
                                 long long stride_b, const void* beta, Memory c, DataType type_c,
                                 int ldc, long long stride_c, int batch, ComputeType compute,
                                 int algorithm);
};

}  // namespace rooftile::cuda
