#include "core/variant.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <functional>

#include "core/enum_words.h"
#include "core/error.h"

namespace rooftile {
namespace {

template <typename Enum>
constexpr std::nullptr_t kWordsOf = nullptr;
template <>
constexpr EnumWords<Family::kMatrix> kWordsOf<Family> = {
    "naive", "register", "tiled", "broadcast", "vector", "batched_small", "matrix"};
template <>
constexpr EnumWords<LoadPath::kDirect> kWordsOf<LoadPath> = {"buffer", "texel", "direct"};
template <>
constexpr EnumWords<Stage::kStored> kWordsOf<Stage> = {"none", "shared", "subgroup", "stored"};
template <>
constexpr EnumWords<Raster::kGrouped16> kWordsOf<Raster> = {"row", "column", "grouped4", "grouped8",
                                                            "grouped16"};
template <>
constexpr EnumWords<Reduction::kAtomic> kWordsOf<Reduction> = {"ordered", "atomic"};
template <>
constexpr EnumWords<Packed::kYes> kWordsOf<Packed> = {"no", "yes"};
template <>
constexpr EnumWords<Scope::kWorkgroup> kWordsOf<Scope> = {"subgroup", "workgroup"};
template <>
constexpr EnumWords<Edge::kMasked> kWordsOf<Edge> = {"exact", "masked"};
template <>
constexpr EnumWords<Prefetch::kPeeled> kWordsOf<Prefetch> = {"none", "ahead", "peeled"};
template <>
constexpr EnumWords<StoreMap::kPermuted> kWordsOf<StoreMap> = {"plain", "permuted"};
template <>
constexpr EnumWords<Optimization::kPerformance> kWordsOf<Optimization> = {"zero", "performance"};

/// The schema of a parameter. Parsing, printing, the names in templates, the search's features, the
/// CLI's options and the columns of exports come from it.
struct Field {
  std::string_view name;
  std::string_view meaning;  // in the help of `rooftile emit`
  std::string values;        // for people
  int words;                 // that it takes; 0: it takes numbers
  std::function<int(const Variant&)> number;
  std::function<std::string(const Variant&)> get;
  std::function<void(Variant&, std::string_view)> set;
  bool younger = false;  // added after results were stored: to_string() leaves its default out
};

Field number(std::string_view name, int Variant::*member, std::string_view meaning) {
  return {
      name,
      meaning,
      "a whole number",
      0,
      [member](const Variant& v) { return v.*member; },
      [member](const Variant& v) { return std::to_string(v.*member); },
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
Field choice(std::string_view name, Enum Variant::*member, std::string_view meaning) {
  constexpr auto& words = kWordsOf<Enum>;
  return {name,
          meaning,
          fmt::format("{}", fmt::join(words.all, ", ")),
          static_cast<int>(words.all.size()),
          [member](const Variant& v) { return static_cast<int>(v.*member); },
          [member](const Variant& v) { return std::string(words[v.*member]); },
          [member, name](Variant& v, std::string_view text) {
            const std::optional<Enum> value = words.find(text);
            if (!value)
              fail(ErrorCode::kInvalidArgument, "{} is '{}'; it takes one of: {}", name, text,
                   fmt::join(words.all, ", "));
            v.*member = *value;
          }};
}

Field younger(Field field) {
  field.younger = true;
  return field;
}

const std::vector<Field>& fields() {
  static const std::vector<Field> table = {
      choice("family", &Variant::family, "The algorithm"),
      number("tile_m", &Variant::tile_m, "Rows of C that a workgroup computes"),
      number("tile_n", &Variant::tile_n, "Columns of C that a workgroup computes"),
      number("tile_k", &Variant::tile_k,
             "Steps of k in a tile (tiled, matrix), or of all lanes in an iteration (vector)"),
      number("reg_m", &Variant::reg_m, "Rows of C that an invocation computes (not matrix)"),
      number("reg_n", &Variant::reg_n, "Columns of C that an invocation computes (not matrix)"),
      number("subgroup_m", &Variant::subgroup_m,
             "Rows of C that a subgroup computes (matrix, tiled)"),
      number("subgroup_n", &Variant::subgroup_n,
             "Columns of C that a subgroup computes (matrix, tiled)"),
      number("matrix_m", &Variant::matrix_m, "Rows of a matrix operation (matrix)"),
      number("matrix_n", &Variant::matrix_n, "Columns of a matrix operation (matrix)"),
      number("matrix_k", &Variant::matrix_k, "Steps of k of a matrix operation (matrix)"),
      choice("scope", &Variant::scope,
             "Invocations that hold a matrix of the unit together (matrix)"),
      number("vector_width_a", &Variant::vector_width_a,
             "Elements in a load of A: 1, 2 or 4 (32-bit words for matrix, and with dot 4)"),
      number("vector_width_b", &Variant::vector_width_b,
             "The same for B (32-bit words also where B is quantised)"),
      choice("load_path_a", &Variant::load_path_a,
             "How A is read: from a storage buffer, a texel buffer, or by the matrix unit itself"),
      choice("load_path_b", &Variant::load_path_b, "The same for B"),
      choice("stage", &Variant::stage,
             "Where lanes share operands: nowhere, in shared memory along k, in a subgroup's "
             "registers, or in shared memory in the order of memory"),
      number("stages", &Variant::stages, "Tiles in shared memory, 1 or 2 (tiled, matrix)"),
      number("shared_pad", &Variant::shared_pad,
             "Elements behind each row of a tile, against bank conflicts (tiled, matrix)"),
      number("unroll_k", &Variant::unroll_k, "Steps of k in an iteration of the innermost loop"),
      number("dot", &Variant::dot,
             "Elements of k that an instruction multiplies: 1, or 4 of 8-bit integers"),
      number("split_k", &Variant::split_k,
             "Parts of k that different workgroups multiply, 1 to 256"),
      choice("reduction", &Variant::reduction,
             "How the sums of these parts are added: in a fixed order, or by atomic additions"),
      number("tile_batch", &Variant::tile_batch,
             "Matrices of a batch that a workgroup computes (batched_small)"),
      choice("raster", &Variant::raster,
             "Order of workgroups: along n, along m, or along n in groups of rows"),
      choice("packed_a", &Variant::packed_a,
             "Whether a pack kernel lays A out for this one (register, broadcast, matrix)"),
      choice("packed_b", &Variant::packed_b, "The same for B"),
      choice("edge", &Variant::edge, "Whether all sizes are whole tiles, or edges are checked"),
      number("subgroup_size", &Variant::subgroup_size,
             "Invocations of a subgroup that the kernel needs; 0: any number"),
      choice("optimization", &Variant::optimization,
             "Passes of spirv-opt before the driver's compiler"),
      younger(choice("prefetch", &Variant::prefetch,
                     "Whether the next tile is loaded before this one is multiplied; peeled: with "
                     "copies of the code for the first and last one (tiled, matrix, vector)")),
      younger(
          choice("store_map", &Variant::store_map,
                 "Whether neighbouring lanes put neighbouring rows of a tile along k, or rows in "
                 "other banks of shared memory (matrix)")),
      younger(
          number("subgroups_k", &Variant::subgroups_k,
                 "Subgroups that share a block of C and divide the steps of each tile: 1, 2 or 4 "
                 "(matrix)")),
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

std::string_view name(Family family) { return kWordsOf<Family>[family]; }

std::vector<std::pair<std::string, std::string>> parameters(const Variant& v) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const Field& field : fields()) result.emplace_back(field.name, field.get(v));
  return result;
}

std::vector<ParameterNumber> parameter_numbers(const Variant& v) {
  std::vector<ParameterNumber> result;
  for (const Field& field : fields()) result.push_back({field.number(v), field.words});
  return result;
}

void set_parameter(Variant& v, std::string_view parameter, std::string_view value) {
  field_named(parameter).set(v, value);
}

std::string parameter_values(std::string_view parameter) { return field_named(parameter).values; }
std::string parameter_meaning(std::string_view parameter) {
  const Field& field = field_named(parameter);
  return field.words == 0 ? std::string(field.meaning)
                          : fmt::format("{}; one of {}", field.meaning, field.values);
}

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
  const auto word = [](auto x) { return kWordsOf<decltype(x)>[x]; };
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
  for (const Field& field : fields())
    if (field.younger && field.get(v) != field.get({}))
      text += fmt::format(" {}={}", field.name, field.get(v));
  if (v.raster != Raster::kRow) text += fmt::format(" raster={}", word(v.raster));
  if (v.optimization != Optimization::kZero)
    text += fmt::format(" optimization={}", word(v.optimization));
  return text;
}

}  // namespace rooftile
