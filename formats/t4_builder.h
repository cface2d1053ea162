// The members of a T4 file as values.
#pragma once

#include <map>
#include <string>

#include "formats/result_json.h"
#include "formats/t4_results.h"

namespace rooftile {

/// Builds T4Results from the members of a file in any order. Every function throws what refuse()
/// does, with what is wrong, but not in which file or result.
class T4Builder {
 public:
  explicit T4Builder(const T4Defaults& defaults) : defaults_(defaults) {}

  void metadata(const Json& json);
  void version(const Json& json);
  /// One entry of "results".
  void result(const Json& json);
  T4Results finished();

 private:
  std::size_t problem_of(const Json& json);
  std::size_t device_of(const Json& json);
  double compile_ns(const Json& times) const;
  void measure(const Json& json, const Problem& p, T4Result& result) const;

  const T4Defaults& defaults_;
  T4Results all_;
  std::map<std::string, std::size_t> problems_;
  std::size_t highest_device_ = 0;
  bool names_devices_ = false, lacks_device_ = false;
  double unit_ns_ = 1e6;  // Kernel Tuner's
};

}  // namespace rooftile
