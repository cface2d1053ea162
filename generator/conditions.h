// The conditions of #if lines in templates.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace rooftile {

/// The text that a name stands for, or nothing where it is not defined.
using ValueOf = std::function<std::optional<std::string_view>(std::string_view name)>;

/// Value of an expression with GLSL's integers, operators and defined(NAME), whose names stand for
/// expressions. Names behind || and && count only where their value does. Throws kInternal for a
/// name that is not defined and for a text that is no expression.
std::int64_t value_of_condition(std::string_view expression, const ValueOf& value_of);

}  // namespace rooftile
