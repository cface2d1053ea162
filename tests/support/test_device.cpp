#include "test_device.h"

#include <cstdlib>

#include "tests/support/first_device.h"

namespace rooftile {
namespace {

std::shared_ptr<Device>& slot() {
  static std::shared_ptr<Device> device;
  return device;
}

/// Enables the validation layer for the whole process, and fails the test program for each
/// message.
class Validation : public testing::Environment {
 public:
  void SetUp() override { ::setenv("ROOFTILE_VALIDATION", "1", 1); }
  void TearDown() override {
    slot().reset();  // The layer reports objects that are left.
    for (const std::string& message : validation_messages()) ADD_FAILURE() << message;
  }
};

const auto* const kValidation = testing::AddGlobalTestEnvironment(new Validation);

}  // namespace

const DeviceProfile& first_profile() {
  static const DeviceProfile first = first_device();
  return first;
}

Device& test_device() {
  if (slot() == nullptr) slot() = Device::open(first_profile());
  return *slot();
}

Affine::Affine(Device& device)
    : pipeline(device.create_pipeline(
          compile_shader(R"(
              layout(local_size_x = 16) in;
              layout(binding = 0) readonly buffer X { float x[]; };
              layout(binding = 1) writeonly buffer Y { float y[]; };
              layout(push_constant) uniform Constants { uint n; float factor; };
              void main() {
                uint i = gl_GlobalInvocationID.x;
                if (i < n) y[i] = x[i] * factor + float(i);
              })"),
          {.bindings = {BindingKind::kStorageBuffer, BindingKind::kStorageBuffer},
           .push_constants_bytes = sizeof(PushConstants)})) {}

DispatchStep Affine::step(const BufferRange& x, const BufferRange& y,
                          PushConstants constants) const {
  return {.pipeline = &pipeline,
          .bindings = {x, y},
          .push_constants = bytes_of(constants),
          .groups = {(constants.n + kWorkgroup - 1) / kWorkgroup, 1, 1}};
}

}  // namespace rooftile
