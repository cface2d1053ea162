// An optional library, opened at run time and never closed, because drivers keep threads.
#pragma once

#include <string>
#include <vector>

namespace rooftile {

class SharedLibrary {
 public:
  /// Opens the first of the names or paths that can be loaded. Otherwise throws kUnsupported with
  /// the missing library, every name tried and its error, and the remedy.
  SharedLibrary(const std::string& what, const std::vector<std::string>& names,
                const std::string& remedy);

  const std::string& file() const { return file_; }  // symbolic links resolved

  /// Looks a function up; its type is not checked. Throws kUnsupported when the library has no
  /// function of that name.
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
