#include "core/epilogue.h"

#include <array>
#include <utility>

#include "core/error.h"

namespace rooftile {
namespace {

struct Part {
  std::string_view name;
  bool (*has)(const Epilogue&);
  void (*set)(Epilogue&);
};

template <Bias kind>
constexpr Part bias_part(std::string_view name) {
  return {name, [](const Epilogue& e) { return e.bias == kind; },
          [](Epilogue& e) { e.bias = kind; }};
}
template <Activation kind>
constexpr Part activation_part(std::string_view name) {
  return {name, [](const Epilogue& e) { return e.activation == kind; },
          [](Epilogue& e) { e.activation = kind; }};
}
template <bool Epilogue::*flag>
constexpr Part flag_part(std::string_view name) {
  return {name, [](const Epilogue& e) { return e.*flag; }, [](Epilogue& e) { e.*flag = true; }};
}

constexpr std::array kParts = {
    flag_part<&Epilogue::row_scale>("row_scale"),
    flag_part<&Epilogue::column_scale>("column_scale"),
    bias_part<Bias::kRow>("bias_row"),
    bias_part<Bias::kColumn>("bias_column"),
    activation_part<Activation::kRelu>("relu"),
    activation_part<Activation::kGeluErf>("gelu_erf"),
    activation_part<Activation::kGeluTanh>("gelu_tanh"),
    activation_part<Activation::kSilu>("silu"),
    flag_part<&Epilogue::residual>("residual"),
    flag_part<&Epilogue::clamp>("clamp"),
};

std::string known_parts() {
  std::string text;
  for (const Part& part : kParts) text += fmt::format("{}{}", text.empty() ? "" : ", ", part.name);
  return text;
}

const Part& part_named(std::string_view name) {
  for (const Part& part : kParts)
    if (part.name == name) return part;
  fail(ErrorCode::kInvalidArgument, "unknown epilogue step '{}'; known: {}", name, known_parts());
}

}  // namespace

bool any(const Epilogue& e) { return compiled_part(e) != Epilogue{}; }

Epilogue compiled_part(const Epilogue& e) {
  Epilogue part = e;
  part.low = Epilogue{}.low;
  part.high = Epilogue{}.high;
  return part;
}

Epilogue transposed(const Epilogue& e) {
  Epilogue t = e;
  std::swap(t.row_scale, t.column_scale);
  if (e.bias != Bias::kNone) t.bias = e.bias == Bias::kRow ? Bias::kColumn : Bias::kRow;
  return t;
}

std::string to_string(const Epilogue& e) {
  std::string text;
  for (const Part& part : kParts)
    if (part.has(e)) text += fmt::format("{}{}", text.empty() ? "" : "+", part.name);
  return text;
}

Epilogue parse_epilogue(std::string_view text) {
  Epilogue e;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find('+'));
    const Epilogue before = e;
    part_named(name).set(e);
    const bool replaced =
        (before.bias != Bias::kNone && e.bias != before.bias) ||
        (before.activation != Activation::kNone && e.activation != before.activation);
    if (e == before || replaced)
      fail(ErrorCode::kInvalidArgument,
           "epilogue step '{}' follows another of its kind; an epilogue has at most one bias and "
           "one activation",
           name);
    text.remove_prefix(name.size());
    if (text == "+") fail(ErrorCode::kInvalidArgument, "the epilogue ends with a +");
    if (!text.empty()) text.remove_prefix(1);
  }
  return e;
}

// Maxima of the derivatives, found by bisection of the second one, rounded up.
double largest_slope(Activation activation) {
  switch (activation) {
    case Activation::kGeluErf:
    case Activation::kGeluTanh:
      return 1.13;
    case Activation::kSilu:
      return 1.1;
    default:
      return 1;
  }
}

}  // namespace rooftile
