// An open context of the C ABI.
#pragma once

#include <gtest/gtest.h>
#include <rooftile/rooftile.h>

#include <filesystem>
#include <string>

namespace rooftile {

/// Opens a context on a database, which need not exist, and fails the test where that is an error.
/// options: without the size and the path, which are set here
inline rooftile_context* opened(const std::filesystem::path& database,
                                rooftile_options options = {}) {
  const std::string path = database.string();
  options.struct_size = sizeof options;
  options.database_path = path.c_str();
  rooftile_context* context = nullptr;
  EXPECT_EQ(rooftile_open(&options, &context), ROOFTILE_OK) << rooftile_last_error();
  return context;
}

}  // namespace rooftile
