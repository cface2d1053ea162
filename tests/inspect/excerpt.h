#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/file_text.h"

namespace rooftile {

/// A file of tests/inspect/excerpts/.
inline std::string excerpt(const std::string& name) {
  const std::string text =
      bytes_of_file(ROOFTILE_SOURCE_DIR "/tests/inspect/excerpts/" + name + ".txt");
  EXPECT_FALSE(text.empty()) << name;
  return text;
}

}  // namespace rooftile
