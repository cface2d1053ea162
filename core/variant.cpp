#include "core/variant.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <functional>

#include "core/error.h"

namespace rooftile {
namespace {

template <typename Enum>
struct Names;  // value -> text, indexed by the enumerator
template <>
struct Names<Family> {
  static constexpr auto kText = std::to_array<std::string_view>(
      {"naive", "register", "tiled", "broadcast", "vector", "batched_small", "matrix"});
};
template <>
struct Names<LoadPath> {
  static constexpr auto kText = std::to_array<std::string_view>({"buffer", "texel", "direct"});
};
template <>
struct Names<Stage> {
  static constexpr auto kText =
      std::to_array<std::string_view>({"none", "shared", "subgroup", "stored"});
};
template <>
struct Names<Raster> {
  static constexpr auto kText =
      std::to_array<std::string_view>({"row", "column", "grouped4", "grouped8", "grouped16"});
};
template <>
struct Names<Reduction> {
  static constexpr auto kText = std::to_array<std::string_view>({"ordered", "atomic"});
};
template <>
struct Names<Packed> {
  static constexpr auto kText = std::to_array<std::string_view>({"no", "yes"});
};
template <>
struct Names<Scope> {
  static constexpr auto kText = std::to_array<std::string_view>({"subgroup", "workgroup"});
};
template <>
struct Names<Edge> {
  static constexpr auto kText = std::to_array<std::string_view>({"exact", "masked"});
};
template <>
struct Names<Prefetch> {
  static constexpr auto kText = std::to_array<std::string_view>({"none", "ahead", "peeled"});
};
template <>
struct Names<StoreMap> {
  static constexpr auto kText = std::to_array<std::string_view>({"plain", "permuted"});
};
template <>
struct Names<Optimization> {
  static constexpr auto kText = std::to_array<std::string_view>({"zero", "performance"});
};

struct Field {
  std::string_view name;
  std::string values;  // for people
  std::function<std::string(const Variant&)> get;
  std::function<void(Variant&, std::string_view)> set;
  bool younger = false;  // than stored results: to_string() leaves its default out
};

Field number(std::string_view name, int Variant::*member) {
  return {
      name, "a whole number", [member](const Variant& v) { return std::to_string(v.*member); },
      [member, name](Variant& v, std::string_view text) {
        int value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > 65536)
          fail(ErrorCode::kInvalidArgument, "{} is '{}'; it takes a whole number from 0 to 65536",
               name, text);
        v.*member = value;
      }};
}

template <typename Enum>
Field choice(std::string_view name, Enum Variant::*member) {
  constexpr auto& texts = Names<Enum>::kText;
  return {name, fmt::format("{}", fmt::join(texts, ", ")),
          [member](const Variant& v) {
            return std::string(texts[static_cast<std::size_t>(v.*member)]);
          },
          [member, name](Variant& v, std::string_view text) {
            for (std::size_t i = 0; i < texts.size(); ++i) {
              if (texts[i] == text) {
                v.*member = static_cast<Enum>(i);
                return;
              }
            }
            fail(ErrorCode::kInvalidArgument, "{} is '{}'; it takes one of: {}", name, text,
                 fmt::join(texts, ", "));
          }};
}

Field younger(Field field) {
  field.younger = true;
  return field;
}

const std::vector<Field>& fields() {
  static const std::vector<Field> table = {
      choice("family", &Variant::family),
      number("tile_m", &Variant::tile_m),
      number("tile_n", &Variant::tile_n),
      number("tile_k", &Variant::tile_k),
      number("reg_m", &Variant::reg_m),
      number("reg_n", &Variant::reg_n),
      number("subgroup_m", &Variant::subgroup_m),
      number("subgroup_n", &Variant::subgroup_n),
      number("matrix_m", &Variant::matrix_m),
      number("matrix_n", &Variant::matrix_n),
      number("matrix_k", &Variant::matrix_k),
      choice("scope", &Variant::scope),
      number("vector_width_a", &Variant::vector_width_a),
      number("vector_width_b", &Variant::vector_width_b),
      choice("load_path_a", &Variant::load_path_a),
      choice("load_path_b", &Variant::load_path_b),
      choice("stage", &Variant::stage),
      number("stages", &Variant::stages),
      number("shared_pad", &Variant::shared_pad),
      number("unroll_k", &Variant::unroll_k),
      number("dot", &Variant::dot),
      number("split_k", &Variant::split_k),
      choice("reduction", &Variant::reduction),
      number("tile_batch", &Variant::tile_batch),
      choice("raster", &Variant::raster),
      choice("packed_a", &Variant::packed_a),
      choice("packed_b", &Variant::packed_b),
      choice("edge", &Variant::edge),
      number("subgroup_size", &Variant::subgroup_size),
      choice("optimization", &Variant::optimization),
      younger(choice("prefetch", &Variant::prefetch)),
      younger(choice("store_map", &Variant::store_map)),
  };
  return table;
}

const Field& field_named(std::string_view parameter) {
  for (const Field& field : fields())
    if (field.name == parameter) return field;
  fail(ErrorCode::kInvalidArgument, "unknown kernel parameter '{}'; known: {}", parameter,
       fmt::join(parameter_names(), ", "));
}

}  // namespace

std::string_view name(Family family) {
  return Names<Family>::kText[static_cast<std::size_t>(family)];
}

std::vector<std::pair<std::string, std::string>> parameters(const Variant& v) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const Field& field : fields()) result.emplace_back(field.name, field.get(v));
  return result;
}

void set_parameter(Variant& v, std::string_view parameter, std::string_view value) {
  field_named(parameter).set(v, value);
}

std::string parameter_values(std::string_view parameter) { return field_named(parameter).values; }

std::vector<std::string> parameter_names() {
  std::vector<std::string> names;
  for (const Field& field : fields()) names.emplace_back(field.name);
  return names;
}

std::string to_string(const Variant& v) {
  std::string text;
  for (const Field& field : fields()) {
    const std::string value = field.get(v);
    if (field.younger && value == field.get({})) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", field.name, value);
  }
  return text;
}

ParameterSettings parse_settings(std::string_view text) {
  ParameterSettings settings;
  while (true) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) return settings;
    text.remove_prefix(begin);
    const std::string_view token = text.substr(0, text.find(' '));
    const std::size_t equals = token.find('=');
    if (equals == std::string_view::npos)
      fail(ErrorCode::kInvalidArgument, "'{}' is not of the form parameter=value", token);
    settings.emplace_back(token.substr(0, equals), token.substr(equals + 1));
    text.remove_prefix(token.size());
  }
}

Variant with_settings(Variant v, const ParameterSettings& settings) {
  for (const auto& [parameter, value] : settings) set_parameter(v, parameter, value);
  return v;
}

Variant parse_variant(std::string_view text) { return with_settings({}, parse_settings(text)); }

std::string short_name(const Variant& v) {
  std::string text = fmt::format("{} {}x{}", name(v.family), v.tile_m, v.tile_n);
  const bool matrix = v.family == Family::kMatrix;
  if (v.family == Family::kTiled || v.family == Family::kVector || matrix)
    text += fmt::format("x{}", v.tile_k);
  text += matrix ? fmt::format(" {}x{} of {}x{}x{}", v.subgroup_m, v.subgroup_n, v.matrix_m,
                               v.matrix_n, v.matrix_k)
                 : fmt::format(" {}x{}", v.reg_m, v.reg_n);
  if (has_workgroup_scope(v)) text += " workgroup";
  if (v.subgroup_m > 0 && !matrix) text += fmt::format(" in {}x{}", v.subgroup_m, v.subgroup_n);
  if (v.unroll_k > 1) text += fmt::format(" u{}", v.unroll_k);
  if (v.vector_width_a > 1 || v.vector_width_b > 1)
    text += fmt::format(" v{}/{}", v.vector_width_a, v.vector_width_b);
  const auto word = [](auto x) { return Names<decltype(x)>::kText[static_cast<std::size_t>(x)]; };
  if (v.load_path_a != LoadPath::kBuffer || v.load_path_b != LoadPath::kBuffer)
    text += fmt::format(" {}/{}", word(v.load_path_a), word(v.load_path_b));
  if (v.packed_a == Packed::kYes || v.packed_b == Packed::kYes)
    text += fmt::format(" packed {}{}", v.packed_a == Packed::kYes ? "a" : "",
                        v.packed_b == Packed::kYes ? "b" : "");
  if (v.tile_batch > 1) text += fmt::format(" {} products", v.tile_batch);
  if (v.dot > 1) text += fmt::format(" dot{}", v.dot);
  if (v.split_k > 1)
    text +=
        fmt::format(" split {}{}", v.split_k, v.reduction == Reduction::kAtomic ? " atomic" : "");
  if (v.stages > 1) text += fmt::format(" {} stages", v.stages);
  if (v.edge != Edge::kMasked) text += fmt::format(" {}", word(v.edge));
  const bool is_staged = v.family == Family::kTiled || matrix;
  if (v.stage != Stage::kNone && (!is_staged || v.stage == Stage::kStored))
    text += fmt::format(" stage={}", word(v.stage));
  if (v.shared_pad > 0) text += fmt::format(" shared_pad={}", v.shared_pad);
  if (v.prefetch != Prefetch::kNone) text += fmt::format(" prefetch={}", word(v.prefetch));
  if (v.store_map != StoreMap::kPlain) text += fmt::format(" store_map={}", word(v.store_map));
  if (v.raster != Raster::kRow) text += fmt::format(" raster={}", word(v.raster));
  if (v.optimization != Optimization::kZero)
    text += fmt::format(" optimization={}", word(v.optimization));
  return text;
}

}  // namespace rooftile
