// The C ABI's arguments as values that the rest of the runtime takes.
#pragma once

#include <rooftile/rooftile.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "core/error.h"
#include "generator/emit.h"
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

/// How many bytes of a structure a caller has at least: up to the first field that an older header
/// of this soname may lack. More than a pointer's, which are what a wrong sizeof gives.
/// New fields go to the end, say by zero what was so before them, and leave no padding, because a
/// caller's padding may hold anything (so 4 bytes of rooftile_epilogue's end stay unused).
template <typename T>
inline constexpr std::size_t kLeastBytes = 0;
template <>
inline constexpr std::size_t kLeastBytes<rooftile_options> = offsetof(rooftile_options, tier);
template <>
inline constexpr std::size_t kLeastBytes<rooftile_guard> = offsetof(rooftile_guard, kappa);
template <>
inline constexpr std::size_t kLeastBytes<rooftile_sgemm_args> = offsetof(rooftile_sgemm_args, tier);
template <>
inline constexpr std::size_t kLeastBytes<rooftile_gemm_args> = offsetof(rooftile_gemm_args,
                                                                        a_array);
template <>
inline constexpr std::size_t kLeastBytes<rooftile_epilogue> = offsetof(rooftile_epilogue,
                                                                       activation);
template <>
inline constexpr std::size_t kLeastBytes<rooftile_quantization> = offsetof(rooftile_quantization,
                                                                           zero_points);
template <>
inline constexpr std::size_t kLeastBytes<rooftile_decision> = offsetof(rooftile_decision,
                                                                       veto_name);
template <>
inline constexpr std::size_t kLeastBytes<rooftile_resident_operands> =
    offsetof(rooftile_resident_operands, row_scale);
template <>
inline constexpr std::size_t kLeastBytes<rooftile_prepared> = offsetof(rooftile_prepared, kernel);

template <>
inline constexpr std::size_t kLeastBytes<rooftile_pack_args> = sizeof(rooftile_pack_args);
template <>
inline constexpr std::size_t kLeastBytes<rooftile_packed_info> = sizeof(rooftile_packed_info);

/// What is known of a structure's sizes: the caller's own is its first field.
struct StructSizes {
  std::size_t least, known;
};

template <typename T>
constexpr StructSizes struct_sizes() {
  static_assert(offsetof(T, struct_size) == 0 && kLeastBytes<T> > sizeof(void*) &&
                kLeastBytes<T> <= sizeof(T) && alignof(T) == alignof(std::size_t));
  return {kLeastBytes<T>, sizeof(T)};
}

/// The caller's structure in the known size: what it lacks is zero, and so has to be what it has
/// besides. Throws kInvalidArgument for what is the size of no version, kUnsupported for fields
/// that are set and unknown here. As Linux does it for system calls (copy_struct_from_user).
void copy_struct(const char* argument, const void* given, StructSizes sizes, void* copy);

/// The other way: as much of a result as the caller's structure has; what it has besides becomes
/// zero. Its struct_size stays. Throws kInvalidArgument.
void fill_struct(const char* argument, void* target, StructSizes sizes, const void* result);

/// A structure of the caller's, whatever header that was compiled with, as this library knows it.
/// Only one of another size is copied: the caller's has to outlive this.
template <typename T>
class Given {
 public:
  Given(const char* argument, const T* given) : value_(given) {
    if (given == nullptr) fail(ErrorCode::kInvalidArgument, "{} is null", argument);
    if (given->struct_size == sizeof(T)) return;
    copy_struct(argument, given, struct_sizes<T>(), &copy_);
    value_ = &copy_;
  }
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;

  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_; }

 private:
  const T* value_;
  T copy_;  // unset unless it is used
};

template <typename T>
void give_struct(const char* argument, T* target, const T& result) {
  if (target == nullptr) fail(ErrorCode::kInvalidArgument, "{} is null", argument);
  fill_struct(argument, target, struct_sizes<T>(), &result);
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
/// Its packed operand, if it has one, fits and is alive.
GemmCall checked_call(const rooftile_sgemm_args* args);
GemmCall checked_call(const rooftile_gemm_args* args);

/// The operand that a C caller names, in the row-major call that checked_call() makes.
Operand row_major_operand(const rooftile_operand& operand, const rooftile_layout& layout);

}  // namespace rooftile
