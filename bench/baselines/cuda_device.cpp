#include "bench/baselines/cuda_device.h"

#include "core/error.h"

namespace rooftile::cuda {

Gpu::Gpu(const std::string& wanted_uuid) {
  int count = 0;
  check(driver.init(0), "cuInit");
  check(driver.device_count(&count), "cuDeviceGetCount");
  if (count == 0) fail(ErrorCode::kUnsupported, "the CUDA driver has no device");
  bool wanted = false;
  for (int i = 0; i < count && !wanted; ++i) {
    check(driver.device_get(&device_, i), "cuDeviceGet");
    wanted = uuid() == wanted_uuid;
  }
  if (!wanted) check(driver.device_get(&device_, 0), "cuDeviceGet");
  name = describe(wanted);
  check(driver.retain_primary_context(&context_, device_), "cuDevicePrimaryCtxRetain");
  check(driver.set_current(context_), "cuCtxSetCurrent");
  check(driver.stream_create(&stream, kNonBlockingStream), "cuStreamCreate");
}

Gpu::~Gpu() {
  driver.stream_destroy(stream);
  driver.release_primary_context(device_);
}

void Gpu::check(Status status, const char* function) const {
  if (status == 0) return;
  const char* text = nullptr;
  driver.error_string(status, &text);
  fail(status == kOutOfMemory ? ErrorCode::kOutOfMemory
       : status == kNoDevice  ? ErrorCode::kUnsupported
                              : ErrorCode::kDevice,
       "{} failed on {}: {} ({})", function, name.empty() ? "the CUDA driver" : name,
       text != nullptr ? text : "unknown error", status);
}

std::string Gpu::uuid() const {
  Uuid bytes = {};
  check(driver.device_uuid(&bytes, device_), "cuDeviceGetUuid");
  std::string digits;
  for (unsigned char byte : bytes) digits += fmt::format("{:02x}", byte);
  return digits;
}

std::string Gpu::describe(bool wanted) const {
  char text[256] = {};
  int version = 0;
  check(driver.device_name(text, sizeof text - 1, device_), "cuDeviceGetName");
  check(driver.driver_version(&version), "cuDriverGetVersion");
  return fmt::format("{}, driver for CUDA {}.{}{}", text, version / 1000, version % 1000 / 10,
                     wanted ? "" : ", NOT the device under test");
}

DeviceMemory::DeviceMemory(const Gpu& gpu, std::int64_t bytes)
    : gpu_(gpu), bytes_(static_cast<std::size_t>(bytes)) {
  gpu_.check(gpu_.driver.memory_allocate(&address, bytes_), "cuMemAlloc");
}

void DeviceMemory::upload(const void* source) const {
  gpu_.check(gpu_.driver.copy_to_device(address, source, bytes_), "cuMemcpyHtoD");
}

// The copy runs on the context's default stream, for which the baseline's stream does not wait.
void DeviceMemory::fill(unsigned char byte) const {
  gpu_.check(gpu_.driver.memory_fill(address, byte, bytes_), "cuMemsetD8");
  gpu_.check(gpu_.driver.stream_synchronize(nullptr), "cuStreamSynchronize");
}

std::vector<char> DeviceMemory::download() const {
  std::vector<char> content(bytes_);
  gpu_.check(gpu_.driver.copy_to_host(content.data(), address, bytes_), "cuMemcpyDtoH");
  return content;
}

}  // namespace rooftile::cuda
