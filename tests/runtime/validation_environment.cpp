// The validation layer watches the whole test program, and a message of it fails the program.
#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/device/device.h"

// What the sanitizers say of the layer itself: see tests/device/test_device.cpp.
#if defined(__SANITIZE_ADDRESS__)
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libVkLayer_khronos_validation.so";
}
#elif defined(__SANITIZE_THREAD__)
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:libVkLayer_khronos_validation.so";
}
#endif

namespace rooftile {
namespace {

class Validation : public testing::Environment {
 public:
  void SetUp() override { ::setenv("ROOFTILE_VALIDATION", "1", 1); }
  void TearDown() override {
    for (const std::string& message : validation_messages()) ADD_FAILURE() << message;
  }
};

const auto* const kValidation = testing::AddGlobalTestEnvironment(new Validation);

}  // namespace
}  // namespace rooftile
