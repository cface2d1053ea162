// A bounded wait for something that another thread or process does.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string_view>
#include <thread>

namespace rooftile {

/// Evaluates the condition every millisecond until it is true, for a minute at most. On a busy
/// machine everything that tests wait for happens within seconds.
/// expected: what the condition means, for the message of the failure: "the kernel answers".
template <typename Condition>
testing::AssertionResult await(std::string_view expected, Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end)
      return testing::AssertionFailure() << "waited for a minute in vain until " << expected;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return testing::AssertionSuccess();
}

}  // namespace rooftile
