#include "bench/baselines/opencl_device.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace rooftile::opencl {
namespace {

struct Failure {
  Status status;
  ErrorCode code;
  const char* why;
};
constexpr std::array kFailures = {
    Failure{kAllocationFailure, ErrorCode::kOutOfMemory, ": no memory for the buffer"},
    Failure{kOutOfResources, ErrorCode::kOutOfMemory, ": out of resources"},
    Failure{kOutOfHostMemory, ErrorCode::kOutOfMemory, ": out of host memory"},
    Failure{kBuildFailure, ErrorCode::kUnsupported, ": the device's compiler refused a kernel"},
    Failure{kNotImplemented, ErrorCode::kUnsupported, ": not implemented"},
    Failure{kNoLocalMemory, ErrorCode::kUnsupported, ": the device has too little local memory"},
    Failure{kNoHalfPrecision, ErrorCode::kUnsupported,
            ": the device has no half precision (cl_khr_fp16)"},
};

}  // namespace

Accelerator::Accelerator(const BaselineSetting& setting) {
  const Device device = choose(setting);
  Status status = 0;
  context = loader.create_context(nullptr, 1, &device, nullptr, nullptr, &status);
  check(status, "clCreateContext");
  queue = loader.create_queue(context, device, kProfilingQueue, &status);
  if (status != 0) loader.release_context(context);
  check(status, "clCreateCommandQueue");
}

Accelerator::~Accelerator() {
  loader.release_queue(queue);
  loader.release_context(context);
}

Device Accelerator::choose(const BaselineSetting& setting) {
  std::uint32_t count = 0;
  const Status found = loader.platforms(0, nullptr, &count);
  std::vector<Platform> platforms(found == 0 ? count : 0);
  if (!platforms.empty())
    check(loader.platforms(count, platforms.data(), nullptr), "clGetPlatformIDs");
  std::vector<Device> devices;
  for (Platform platform : platforms) {
    if (loader.devices(platform, kAnyDevice, 0, nullptr, &count) != 0 || count == 0) continue;
    devices.resize(devices.size() + count);
    check(loader.devices(platform, kAnyDevice, count, devices.data() + devices.size() - count,
                         nullptr),
          "clGetDeviceIDs");
  }
  if (devices.empty())
    fail(ErrorCode::kUnsupported,
         "OpenCL has no device; install the device's OpenCL driver (pocl-opencl-icd for the "
         "processor)");
  const std::uint64_t wanted_type = setting.kind == DeviceKind::kSoftware ? kCpu : kGpu;
  Device chosen = nullptr, alike = nullptr;
  for (Device device : devices) {
    std::uint64_t type = 0;
    check(loader.device_info(device, kDeviceType, sizeof type, &type, nullptr), "clGetDeviceInfo");
    if (alike == nullptr && (type & wanted_type) != 0) alike = device;
    if (chosen == nullptr && uuid(device) == setting.device_uuid) chosen = device;
  }
  const bool is_wanted = chosen != nullptr;
  if (!is_wanted) chosen = alike != nullptr ? alike : devices.front();
  name = fmt::format("{} ({}, {}){}", text(chosen, kDeviceName), text(chosen, kDeviceVersion),
                     text(chosen, kDriverVersion),
                     is_wanted                                                  ? ""
                     : chosen == alike && setting.kind == DeviceKind::kSoftware ? ", the processor"
                     : chosen == alike ? ", not known to be the device under test"
                                       : ", NOT the device under test");
  return chosen;
}

std::string Accelerator::text(Device device, std::uint32_t info) const {
  std::array<char, 512> content = {};
  check(loader.device_info(device, info, content.size() - 1, content.data(), nullptr),
        "clGetDeviceInfo");
  return content.data();
}

std::string Accelerator::uuid(Device device) const {
  std::array<unsigned char, 16> bytes = {};
  if (loader.device_info(device, kDeviceUuid, bytes.size(), bytes.data(), nullptr) != 0) return {};
  std::string digits;
  for (unsigned char byte : bytes) digits += fmt::format("{:02x}", byte);
  return digits;
}

void Accelerator::check(Status status, const char* function) const {
  if (status == 0) return;
  const auto* known = std::find_if(kFailures.begin(), kFailures.end(),
                                   [&](const Failure& one) { return one.status == status; });
  const bool is_known = known != kFailures.end();
  fail(is_known ? known->code : ErrorCode::kDevice, "{} failed on {} with status {}{}", function,
       name.empty() ? "OpenCL" : name, status, is_known ? known->why : "");
}

DeviceMemory::DeviceMemory(const Accelerator& accelerator, std::int64_t bytes)
    : accelerator_(accelerator), bytes_(static_cast<std::size_t>(bytes)) {
  Status status = 0;
  memory =
      accelerator_.loader.create_buffer(accelerator_.context, kReadWrite, bytes_, nullptr, &status);
  accelerator_.check(status, "clCreateBuffer");
}

void DeviceMemory::upload(const void* source) const {
  accelerator_.check(accelerator_.loader.write_buffer(accelerator_.queue, memory, kTrue, 0, bytes_,
                                                      source, 0, nullptr, nullptr),
                     "clEnqueueWriteBuffer");
}

std::vector<char> DeviceMemory::download() const {
  std::vector<char> content(bytes_);
  accelerator_.check(accelerator_.loader.read_buffer(accelerator_.queue, memory, kTrue, 0, bytes_,
                                                     content.data(), 0, nullptr, nullptr),
                     "clEnqueueReadBuffer");
  return content;
}

}  // namespace rooftile::opencl
