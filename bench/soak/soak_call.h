// The C ABI's arguments of a soak case.
#pragma once

#include <rooftile/rooftile.h>

#include "bench/soak/soak_operands.h"

namespace rooftile {

/// Arguments in host memory, or with null pointers where the operands lie on the device. They point
/// into each other and into the operands.
class SoakCall {
 public:
  enum class Pointers : std::uint8_t { kHost, kNone };
  SoakCall(const SoakCase& test, SoakOperands& operands, Pointers pointers);
  SoakCall(const SoakCall&) = delete;
  SoakCall& operator=(const SoakCall&) = delete;

  rooftile_gemm_args args = {};
  rooftile_groups groups = {};

 private:
  void set_operands(const SoakCase& test, SoakOperands& operands);
  void set_epilogue(const SoakCase& test, SoakOperands& operands, bool host);
  void set_quantization(const SoakCase& test, SoakOperands& operands, bool host);
  void set_arrays(const SoakCase& test);

  rooftile_epilogue epilogue_ = {};
  rooftile_quantization quantization_ = {};
  rooftile_guard guard_ = {};
  std::vector<std::int64_t> rows_, experts_;
  std::vector<const void*> a_array_, b_array_;
  std::vector<void*> c_array_;
};

/// Elements of a type behind a pointer.
inline char* behind(char* first, DataType type, std::int64_t elements) {
  return first + elements * bytes_of(type);
}

}  // namespace rooftile
