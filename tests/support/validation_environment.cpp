// Enables the validation layer for the whole test program, which fails for each of its messages,
// unless ROOFTILE_VALIDATION is set.
#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/device/device.h"

namespace rooftile {
namespace {

class Validation : public testing::Environment {
 public:
  void SetUp() override { ::setenv("ROOFTILE_VALIDATION", "1", 0); }
  void TearDown() override {
    for (const std::string& message : validation_messages()) ADD_FAILURE() << message;
  }
};

const auto* const kValidation = testing::AddGlobalTestEnvironment(new Validation);

}  // namespace
}  // namespace rooftile
