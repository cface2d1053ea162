// Conversion of the C ABI's arguments to the types of the runtime.
#pragma once

#include <rooftile/rooftile.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "core/error.h"
#include "generator/emit.h"
#include "runtime/dispatch/context.h"

namespace rooftile {

/// Returns the integer that a C caller has stored in an enumeration. It may be any int, and C++
/// must not load such a value as the enumeration.
template <typename Enum>
int value_of(const Enum& enumeration) {
  static_assert(sizeof(Enum) == sizeof(int));
  int value = 0;
  std::memcpy(&value, &enumeration, sizeof value);
  return value;
}

/// Minimum size of a structure: its size in the first release that has it. A structure that grows
/// after 0.1.0 gets a specialisation here with its size of 0.1.0 as a number; a header that lacks
/// newer fields then stays legal.
///
/// New fields go to the end, keep the old behaviour when they are zero, and leave no padding,
/// because a caller's padding may hold anything (4 bytes behind `high` in rooftile_epilogue stay
/// unused for this reason).
template <typename T>
inline constexpr std::size_t kLeastBytes = sizeof(T);
template <>
inline constexpr std::size_t kLeastBytes<rooftile_gemm_args> = 216;
static_assert(offsetof(rooftile_gemm_args, alpha_f64) == kLeastBytes<rooftile_gemm_args>);
template <>
inline constexpr std::size_t kLeastBytes<rooftile_epilogue> = 88;
static_assert(offsetof(rooftile_epilogue, low_f64) == kLeastBytes<rooftile_epilogue>);
template <>
inline constexpr std::size_t kLeastBytes<rooftile_decision> = 1592;
static_assert(offsetof(rooftile_decision, host64_ns) == kLeastBytes<rooftile_decision>);

/// Throws kInvalidArgument where operands of type F64 come in a structure of version 0.1.0, which
/// lacks their alpha.
void check_knows_float64(const rooftile_gemm_args* given);
/// The same for the limits of the clamp of an epilogue behind operands of this type.
void check_knows_float64(const rooftile_epilogue* given, DataType type);

/// Smallest legal size and current size of a structure. The caller's size is the first field of its
/// structure.
struct StructSizes {
  std::size_t least, known;
};

template <typename T>
constexpr StructSizes struct_sizes() {
  static_assert(offsetof(T, struct_size) == 0 && kLeastBytes<T> > sizeof(void*) &&
                kLeastBytes<T> <= sizeof(T) && alignof(T) == alignof(std::size_t));
  return {kLeastBytes<T>, sizeof(T)};
}

/// Copies a caller's structure to one of the current size. Fields that the caller's structure lacks
/// become zero; fields beyond the current size must be zero. Throws kInvalidArgument for a size
/// that no version has, and kUnsupported for non-zero fields that this library does not know. The
/// rules are those of Linux's copy_struct_from_user.
void copy_struct(const char* argument, const void* given, StructSizes sizes, void* copy);

/// Copies a result to a caller's structure, as far as that goes. Fields that the library does not
/// know become zero, and struct_size stays. Throws kInvalidArgument.
void fill_struct(const char* argument, void* target, StructSizes sizes, const void* result);

/// View of a caller's structure, compiled with any header version, in the current version. Only a
/// structure of another size is copied, so the caller's structure has to outlive this object.
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
  T copy_;  ///< Uninitialised unless it is used.
};

template <typename T>
void give_struct(const char* argument, T* target, const T& result) {
  if (target == nullptr) fail(ErrorCode::kInvalidArgument, "{} is null", argument);
  fill_struct(argument, target, struct_sizes<T>(), &result);
}

/// Copies text and cuts it where the target is too short.
template <std::size_t size>
void copy_text(char (&target)[size], std::string_view text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(target, text.data(), length);
  target[length] = '\0';
}

/// Throw kInvalidArgument, naming the argument, for a value that is no enumerator.
TierChoice tier_choice(const rooftile_tier& tier);
DataType data_type(const char* argument, const rooftile_type& value);
Activation activation_of(std::int64_t value);

/// `options` may be null.
ContextOptions context_options(const rooftile_options* options);

/// Returns the call as a row-major one. Everything is validated except for pointers (validate_call
/// does that). A packed operand is alive and fits the call.
GemmCall checked_call(const rooftile_sgemm_args* args);
GemmCall checked_call(const rooftile_gemm_args* args);
/// Same as above for a call whose groups have this grouping and whose vectors of columns lie
/// expert_columns apart (EpilogueOperands).
GemmCall checked_grouped_call(const rooftile_gemm_args* args, const Grouping& grouping,
                              std::int64_t expert_columns);

/// Operand of the row-major call that checked_call() returns, for the operand that a C caller
/// names.
Operand row_major_operand(const rooftile_operand& operand, const rooftile_layout& layout);

}  // namespace rooftile
