// libcuda.so.1 on the host with two devices. Memory comes from malloc. Streams execute everything
// at once except host functions, which run in parallel to the caller until the stream is
// synchronised, as on a real device.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kSuccess = 0, kInvalidValue = 1;
std::thread host_function;
int contexts = 0;

struct Event {
  std::chrono::steady_clock::time_point time = {};
};

}  // namespace

FAKE int cuInit(unsigned) { return kSuccess; }
FAKE int cuDriverGetVersion(int* version) {
  *version = 12080;
  return kSuccess;
}
FAKE int cuGetErrorString(int, const char** text) {
  *text = "an error of the fake";
  return kSuccess;
}
FAKE int cuDeviceGetCount(int* count) {
  *count = 2;
  return kSuccess;
}
FAKE int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return kSuccess;
}
FAKE int cuDeviceGetName(char* name, int bytes, int device) {
  std::snprintf(name, static_cast<std::size_t>(bytes), "Fake GPU %d", device);
  return kSuccess;
}
FAKE int cuDeviceGetUuid(void* uuid, int device) {
  std::memset(uuid, 0xa0 + device, 16);
  return kSuccess;
}
FAKE int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &contexts;
  ++contexts;
  return kSuccess;
}
FAKE int cuDevicePrimaryCtxRelease_v2(int) { return --contexts < 0 ? kInvalidValue : kSuccess; }
FAKE int cuCtxSetCurrent(void* context) { return context == &contexts ? kSuccess : kInvalidValue; }

FAKE int cuStreamCreate(void** stream, unsigned) {
  *stream = std::malloc(1);
  return kSuccess;
}
FAKE int cuStreamDestroy_v2(void* stream) {
  std::free(stream);
  return kSuccess;
}
FAKE int cuStreamSynchronize(void*) {
  if (host_function.joinable()) host_function.join();
  return kSuccess;
}
FAKE int cuLaunchHostFunc(void*, void (*function)(void*), void* data) {
  if (host_function.joinable()) return kInvalidValue;  // The previous one was not waited for.
  host_function = std::thread(function, data);
  return kSuccess;
}

FAKE int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes) {
  void* memory = std::malloc(bytes);
  *address = reinterpret_cast<unsigned long long>(memory);
  return memory != nullptr ? kSuccess : 2;
}
FAKE int cuMemFree_v2(unsigned long long address) {
  std::free(reinterpret_cast<void*>(address));
  return kSuccess;
}
FAKE int cuMemsetD8_v2(unsigned long long address, unsigned char byte, std::size_t bytes) {
  std::memset(reinterpret_cast<void*>(address), byte, bytes);
  return kSuccess;
}
FAKE int cuMemcpyHtoD_v2(unsigned long long target, const void* source, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(target), source, bytes);
  return kSuccess;
}
FAKE int cuMemcpyDtoH_v2(void* target, unsigned long long source, std::size_t bytes) {
  std::memcpy(target, reinterpret_cast<const void*>(source), bytes);
  return kSuccess;
}

FAKE int cuEventCreate(Event** event, unsigned) {
  *event = new Event;
  return kSuccess;
}
FAKE int cuEventDestroy_v2(Event* event) {
  delete event;
  return kSuccess;
}
FAKE int cuEventRecord(Event* event, void*) {
  event->time = std::chrono::steady_clock::now();
  return kSuccess;
}
FAKE int cuEventElapsedTime(float* ms, const Event* start, const Event* end) {
  *ms = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return *ms >= 0 ? kSuccess : kInvalidValue;
}
