#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace rooftile {

/// A file of tests/inspect/excerpts/.
inline std::string excerpt(const std::string& name) {
  std::ifstream file(ROOFTILE_SOURCE_DIR "/tests/inspect/excerpts/" + name + ".txt");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_FALSE(text.empty()) << name;
  return text;
}

}  // namespace rooftile
