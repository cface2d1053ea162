#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace rooftile {

/// Temporary folder that the destructor removes.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "rooftile-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::filesystem::filesystem_error("mkdtemp", {});
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Sets or clears an environment variable until the end of the scope.
class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* variable, const std::string& value) : variable_(variable) {
    if (const char* before = std::getenv(variable)) before_ = before, was_set_ = true;
    ::setenv(variable, value.c_str(), 1);
  }
  ~ScopedEnvironment() {
    if (was_set_) {
      ::setenv(variable_, before_.c_str(), 1);
    } else {
      ::unsetenv(variable_);
    }
  }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

 private:
  const char* variable_;
  std::string before_;
  bool was_set_ = false;
};

}  // namespace rooftile
