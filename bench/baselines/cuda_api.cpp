#include "bench/baselines/cuda_api.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

#include "bench/baselines/shared_library.h"

namespace rooftile::cuda {
namespace {

// The folder of a toolkit or a Python wheel may be missing from the loader's path. Libraries that
// libcublas links are then not found either, unless they are loaded first.
void load_what_lies_beside(std::string path) {
  constexpr std::string_view kName = "libcublas.so";
  const std::size_t at = path.rfind(kName);
  if (at == std::string::npos || path.find('/') == std::string::npos) return;
  path.replace(at, kName.size(), "libcublasLt.so");
  dlopen(path.c_str(), RTLD_LAZY | RTLD_GLOBAL);
}

std::vector<std::string> cublas_names(std::string path) {
  if (path.empty())
    if (const char* chosen = std::getenv("CUBLAS_LIBRARY"); chosen != nullptr) path = chosen;
  if (path.empty()) return {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};
  load_what_lies_beside(path);
  return {path};
}

}  // namespace

Driver::Driver() {
  const SharedLibrary library("the CUDA driver", {"libcuda.so.1"}, "install the NVIDIA driver");
  library.load(init, "cuInit");
  library.load(driver_version, "cuDriverGetVersion");
  library.load(error_string, "cuGetErrorString");
  library.load(device_count, "cuDeviceGetCount");
  library.load(device_get, "cuDeviceGet");
  library.load(device_name, "cuDeviceGetName");
  library.load(device_uuid, "cuDeviceGetUuid");
  library.load(retain_primary_context, "cuDevicePrimaryCtxRetain");
  library.load(release_primary_context, "cuDevicePrimaryCtxRelease_v2");
  library.load(set_current, "cuCtxSetCurrent");
  library.load(stream_create, "cuStreamCreate");
  library.load(stream_destroy, "cuStreamDestroy_v2");
  library.load(stream_synchronize, "cuStreamSynchronize");
  library.load(launch_host_function, "cuLaunchHostFunc");
  library.load(memory_allocate, "cuMemAlloc_v2");
  library.load(memory_free, "cuMemFree_v2");
  library.load(memory_fill, "cuMemsetD8_v2");
  library.load(copy_to_device, "cuMemcpyHtoD_v2");
  library.load(copy_to_host, "cuMemcpyDtoH_v2");
  library.load(event_create, "cuEventCreate");
  library.load(event_destroy, "cuEventDestroy_v2");
  library.load(event_record, "cuEventRecord");
  library.load(event_elapsed_ms, "cuEventElapsedTime");
}

Cublas::Cublas(const std::string& path) {
  // cuBLAS reads this variable at its first use. It keeps float32 GEMMs from using TF32.
  ::setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
  const SharedLibrary library(
      "cuBLAS", cublas_names(path),
      "install the CUDA toolkit or the Python package nvidia-cublas, and give its libcublas.so as "
      "--baseline-library or in CUBLAS_LIBRARY where the loader does not find it");
  file = library.file();
  library.load(create, "cublasCreate_v2");
  library.load(destroy, "cublasDestroy_v2");
  library.load(version, "cublasGetVersion_v2");
  library.load(set_stream, "cublasSetStream_v2");
  library.load(set_math_mode, "cublasSetMathMode");
  library.load(gemm, "cublasGemmEx");
  library.load(gemm_strided_batched, "cublasGemmStridedBatchedEx");
}

}  // namespace rooftile::cuda
