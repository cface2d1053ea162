#include "bench/baselines/opencl_api.h"

#include "bench/baselines/shared_library.h"

namespace rooftile::opencl {

Loader::Loader() {
  const SharedLibrary library("OpenCL", {"libOpenCL.so.1"},
                              "install ocl-icd-libopencl1 and the device's OpenCL driver "
                              "(pocl-opencl-icd for the processor)");
  library.load(platforms, "clGetPlatformIDs");
  library.load(devices, "clGetDeviceIDs");
  library.load(device_info, "clGetDeviceInfo");
  library.load(create_context, "clCreateContext");
  library.load(release_context, "clReleaseContext");
  library.load(create_queue, "clCreateCommandQueue");
  library.load(release_queue, "clReleaseCommandQueue");
  library.load(finish, "clFinish");
  library.load(flush, "clFlush");
  library.load(create_buffer, "clCreateBuffer");
  library.load(release_memory, "clReleaseMemObject");
  library.load(write_buffer, "clEnqueueWriteBuffer");
  library.load(read_buffer, "clEnqueueReadBuffer");
  library.load(create_user_event, "clCreateUserEvent");
  library.load(set_user_event, "clSetUserEventStatus");
  library.load(enqueue_marker, "clEnqueueMarkerWithWaitList");
  library.load(profiling_info, "clGetEventProfilingInfo");
  library.load(release_event, "clReleaseEvent");
}

Clblast::Clblast(const std::string& path) {
  const SharedLibrary library("CLBlast", {path.empty() ? "libclblast.so.1" : path},
                              "install libclblast1, or name the library with --baseline-library");
  file = library.file();
  library.load(sgemm, "CLBlastSgemm");
  library.load(hgemm, "CLBlastHgemm");
  library.load(sgemm_batched, "CLBlastSgemmStridedBatched");
  library.load(hgemm_batched, "CLBlastHgemmStridedBatched");
  library.load(clear_cache, "CLBlastClearCache");
}

}  // namespace rooftile::opencl
