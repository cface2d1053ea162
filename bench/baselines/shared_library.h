// An optional library, opened at run time and never closed, because drivers keep threads.
#pragma once

#include <string>
#include <vector>

namespace rooftile {

class SharedLibrary {
 public:
  /// The first of the names or paths that can be loaded. Throws kUnsupported with what is missing,
  /// every name that was tried and why it failed, and the remedy.
  SharedLibrary(const std::string& what, const std::vector<std::string>& names,
                const std::string& remedy);

  const std::string& file() const { return file_; }  // links followed

  /// Looks a function up; its name is not checked against the type. Throws kUnsupported when the
  /// library has none of that name.
  template <typename Function>
  void load(Function*& function, const char* symbol) const {
    function = reinterpret_cast<Function*>(find(symbol));
  }

 private:
  void* find(const char* symbol) const;

  void* handle_ = nullptr;
  std::string file_;
};

}  // namespace rooftile
