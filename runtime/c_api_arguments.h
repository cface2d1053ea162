// The C ABI's arguments as values that the rest of the runtime takes.
#pragma once

#include <rooftile/rooftile.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/error.h"
#include "runtime/context.h"

namespace rooftile {

/// What a C caller has put into an enumeration: any int, which C++ must not load as the
/// enumeration.
template <typename Enum>
int value_of(const Enum& enumeration) {
  static_assert(sizeof(Enum) == sizeof(int));
  int value = 0;
  std::memcpy(&value, &enumeration, sizeof value);
  return value;
}

template <typename T>
void check_struct(const char* argument, const T* value) {
  if (value == nullptr) fail(ErrorCode::kInvalidArgument, "{} is null", argument);
  if (value->struct_size != sizeof *value)
    fail(ErrorCode::kInvalidArgument,
         "{}->struct_size is {}, but this library's is {}: set it to sizeof, and compile against "
         "the header of the library that is loaded",
         argument, value->struct_size, sizeof *value);
}

/// Cut where there is no room for more.
template <std::size_t size>
void copy_text(char (&target)[size], std::string_view text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(target, text.data(), length);
  target[length] = '\0';
}

/// Throw kInvalidArgument, naming the argument, for what is no enumerator.
TierChoice tier_choice(const rooftile_tier& tier);
DataType data_type(const char* argument, const rooftile_type& value);

/// options may be null.
ContextOptions context_options(const rooftile_options* options);

/// Validated, but for pointers (validate_call), and as the row-major product that it is.
GemmCall checked_call(const rooftile_sgemm_args* args);
GemmCall checked_call(const rooftile_gemm_args* args);

}  // namespace rooftile
