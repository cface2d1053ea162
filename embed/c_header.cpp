#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "core/count_text.h"
#include "core/embedded_text.h"
#include "core/error.h"
#include "core/hash.h"
#include "embed/bound_text.h"
#include "embed/embedding.h"
#include "embed/header/features.h"
#include "embed/packed_code.h"

namespace rooftile {

std::span<const EmbeddedText> embedded_header_parts();

namespace {

std::string part(std::string_view name) {
  const auto parts = embedded_header_parts();
  const auto found = std::ranges::find(parts, name, &EmbeddedText::name);
  if (found == parts.end()) fail(ErrorCode::kInternal, "no part {} of the header", name);
  return std::string(found->text);
}

/// Text inside of a C string or comment: what comes from drivers is untrusted.
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text) result += c >= ' ' && c <= '~' && c != '"' && c != '\\' ? c : '?';
  // Neither the end of a comment nor a trigraph.
  for (const std::string_view bad : {"*/", "/*", "??"})
    for (std::size_t at = result.find(bad); at != std::string::npos; at = result.find(bad))
      result.replace(at, 2, "--");
  return result;
}

/// The numbers of a structure that has nothing but 32-bit numbers.
template <typename T>
std::string numbers(const T& row) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(std::int32_t) == 0);
  std::array<std::int32_t, sizeof(T) / sizeof(std::int32_t)> values;
  std::memcpy(values.data(), &row, sizeof row);
  std::string text;
  for (const std::int32_t value : values)
    text += fmt::format("{}{}", text.empty() ? "" : ",", value);
  return text;
}

std::string number(double value) {
  if (!std::isfinite(value)) return "1e300";
  std::string text = fmt::format("{:.17g}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}
std::string number(float value) {
  if (!std::isfinite(value)) return "1e30f";
  std::string text = fmt::format("{:.9g}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

/// An array's text; C has no empty ones.
class Table {
 public:
  Table(std::string_view type, std::string_view name, std::string_view nothing)
      : text_(fmt::format("static const {} {}[] = {{\n", type, name)), nothing_(nothing) {}
  void add(const std::string& row) {
    text_ += fmt::format("  {{{}}},\n", row);
    ++rows_;
  }
  std::size_t rows() const { return rows_; }
  std::string text() const {
    return text_ + (rows_ == 0 ? fmt::format("  {{{}}}\n", nothing_) : "") + "};\n";
  }

 private:
  std::string text_, nothing_;
  std::size_t rows_ = 0;
};

std::string code_table(const PackedCode& code) {
  std::string text = fmt::format("#define RTE_UNPACKED {}u\nstatic const uint8_t rte_code[] = {{\n",
                                 code.unpacked);
  for (std::size_t i = 0; i < code.bytes.size(); ++i) {
    constexpr std::size_t kInLine = 32;
    text += fmt::format("{},", static_cast<unsigned char>(code.bytes[i]));
    if (i % kInLine == kInLine - 1) text += '\n';
  }
  return text + "\n};\n";
}

std::string shader_table(const Embedding& e, const PackedCode& code) {
  Table table("rte_shader", "rte_shaders", "0");
  for (std::size_t shader = 0; shader < e.shaders.size(); ++shader) {
    rte_shader facts = e.shaders[shader].facts;
    facts.first = static_cast<std::int32_t>(code.first[shader]);
    std::string row = numbers(facts);
    // The last member is an array.
    const std::size_t kinds = std::size(facts.kinds);
    std::size_t at = row.size();
    for (std::size_t i = 0; i < kinds; ++i) at = row.rfind(',', at - 1);
    row.insert(at + 1, "{");
    table.add(row + "}");
  }
  return table.text();
}

std::string kernel_table(const Embedding& e) {
  Table table("rte_kernel", "rte_kernels", "0");
  for (const EmbeddedKernel& kernel : e.kernels) {
    rte_kernel head = kernel.facts;
    const std::string all = numbers(head), a = numbers(head.a), b = numbers(head.b);
    table.add(
        fmt::format("{},{{{}}},{{{}}}", all.substr(0, all.size() - a.size() - b.size() - 2), a, b));
  }
  return table.text();
}

/// The lists, and the tables that they point into.
struct ListTables {
  Table lists = {"rte_list", "rte_lists", "0,0,0,0,0,0,0,0,0.0f,0.0f,0.0"};
  Table tuned = {"rte_tuned", "rte_tuned_kernels", "0,0,0,0,0,0,0,0.0,{0.0,0.0,0.0,0.0}"};
  Table predicted = {"rte_predicted", "rte_predictions",
                     "0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0"};
  std::string points;
  std::size_t floats = 0, most_tuned = 1, most_predicted = 1;
};

double log_of(std::int64_t size) {
  return std::log2(static_cast<double>(std::max<std::int64_t>(size, 1)));
}

void add_list(ListTables& tables, const EmbeddedList& list) {
  const Selector::Coefficients& c = list.coefficients;
  tables.lists.add(fmt::format("{},{},{},{},{},{},{},{},{},{},{}", list.device, list.of_class,
                               tables.tuned.rows(), list.tuned.size(), tables.predicted.rows(),
                               list.portfolio.size(), tables.floats, c.points.size(),
                               number(c.variance), number(c.scale), number(c.per_unit)));
  tables.most_tuned = std::max(tables.most_tuned, list.tuned.size());
  tables.most_predicted = std::max(tables.most_predicted, list.portfolio.size());
  for (const EmbeddedTuned& x : list.tuned) {
    const Problem& p = x.problem;
    tables.tuned.add(fmt::format(
        "{},{},{},INT64_C({}),INT64_C({}),INT64_C({}),INT64_C({}),{},{{{},{},{},{}}}", x.kernel,
        x.rank, x.is_last_resort ? 1 : 0, p.m, p.n, p.k, p.batch, number(x.ns), number(log_of(p.m)),
        number(log_of(p.n)), number(log_of(p.k)), number(log_of(p.batch))));
  }
  for (std::size_t i = 0; i < list.portfolio.size(); ++i) {
    const Selector::Coefficients::Kernel& k = c.kernels[i];
    std::string row = std::to_string(list.portfolio[i]);
    for (const double value : {k.tile_m, k.tile_n, k.tile_batch, k.split_k, k.constant, k.each,
                               k.step, k.wave, k.mn, k.mk, k.kn})
      row += "," + number(value);
    tables.predicted.add(row);
  }
  for (const Selector::Coefficients::Point& point : c.points) {
    for (const float x : point.at) tables.points += number(x) + ",";
    for (const float x : point.weights) tables.points += number(x) + ",";
    tables.points += '\n';
    tables.floats += point.at.size() + point.weights.size();
  }
}

std::string description_table(const Embedding& e) {
  Table table("rooftile_embed_description", "rte_descriptions", "0");
  for (const EmbeddedKernel& kernel : e.kernels) {
    std::string certificates;
    for (const std::string& x : kernel.certificates)
      certificates += fmt::format("{}{}", certificates.empty() ? "" : "\\n", plain(x));
    const EmbeddedClass& of_class = e.classes[static_cast<std::size_t>(kernel.facts.of_class)];
    table.add(fmt::format("\"{}\",\"{}\",\"{}\",\"{}\",\"{}\",{}u,{}u",
                          plain(short_name(kernel.candidate.variant)),
                          plain(kernel.candidate.signature), plain(kernel.candidate.hash),
                          plain(bound_text(of_class.signature)), certificates, features_of(kernel),
                          e.spirv_bytes(kernel)));
  }
  return table.text();
}

std::string tables_text(const Embedding& e) {
  Table classes("rte_class", "rte_classes", "0"), shapes("rte_shape", "rte_shapes", "0,0,0,0,0,0"),
      devices("rte_device", "rte_devices", "0");
  for (const EmbeddedClass& x : e.classes) classes.add(numbers(x.facts));
  for (const rte_shape& x : e.shapes) shapes.add(numbers(x));
  for (const DeviceProfile& x : e.devices)
    devices.add(
        fmt::format("{}u,{}u,{}u,{}u", x.vendor_id, x.device_id, x.driver_id, x.driver_version));
  const PackedCode code = packed_code(e.shaders);
  ListTables lists;
  for (const EmbeddedList& list : e.lists) add_list(lists, list);
  const auto constant = [](std::string_view name, std::size_t value) {
    return fmt::format("#define {} {}\n", name, value);
  };
  std::string text = "/* ---- Tables ---- */\n\n";
  text += constant("RTE_CLASSES", e.classes.size()) + constant("RTE_KERNELS", e.kernels.size()) +
          constant("RTE_SHADERS", e.shaders.size()) + constant("RTE_SHAPES", e.shapes.size()) +
          constant("RTE_MOST_TUNED", lists.most_tuned) +
          constant("RTE_MOST_PREDICTED", lists.most_predicted) +
          fmt::format("#define RTE_FEATURES {}u\n\n",
                      e.features | ROOFTILE_EMBED_SUBGROUP_SIZE | ROOFTILE_EMBED_FULL_SUBGROUPS);
  text += part("tables.h") + "\n" + classes.text() + shader_table(e, code) + kernel_table(e) +
          shapes.text() + devices.text() + lists.lists.text() + lists.tuned.text() +
          lists.predicted.text() + "static const float rte_points[] = {\n" + lists.points +
          "0.0f};\n" + description_table(e) + code_table(code) + "\n";
  return text;
}

std::string about(const Embedding& e, const std::string& command) {
  std::string text =
      "/* Matrix products on Vulkan: tuned kernels, the choice among them, and their recording.\n"
      "   Made by Rooftile " ROOFTILE_VERSION " with\n     " +
      plain(command) +
      "\n   Needs vulkan.h (1.3 or later) and libc; C99 and C++17. One source file of the program\n"
      "   defines ROOFTILE_EMBED_IMPLEMENTATION before it includes this file; others only include\n"
      "   it. It calls Vulkan by the names of vulkan.h: link the loader, or include volk.h "
      "before.\n"
      "   Names that begin with rte_ or RTE_ are internal.\n\n   Devices:\n";
  for (const DeviceProfile& device : e.devices)
    text += fmt::format("     {} ({})\n", plain(device.name), plain(device.driver_info));
  text +=
      "   Another device gets the plain kernel of a class: any that runs Vulkan 1.1, with float16\n"
      "   arithmetic where sums are float16.\n\n"
      "   Classes of products (types of A, B and C, transposes, epilogue):\n";
  for (const EmbeddedClass& x : e.classes)
    text += fmt::format("     {:<40} {}, {}{}\n", plain(to_string(x.signature)),
                        count_text(static_cast<std::size_t>(x.facts.kernels), "kernel"),
                        plain(bound_text(x.signature)),
                        x.facts.fallback < 0 ? "; no plain kernel for other devices" : "");
  text += fmt::format(
      "\n   {} and {} bytes of SPIR-V, packed. rooftile_embed_describe() says of each kernel\n"
      "   by which device it was certified, and when. */\n",
      count_text(e.kernels.size(), "kernel"), e.spirv_bytes());
  return text;
}

std::string declarations(const Embedding& e) {
  std::string text =
      "/* Types of A, of B and C where they differ, transposes of A and B, epilogue. */\n"
      "typedef enum rooftile_embed_class {\n";
  for (std::size_t i = 0; i < e.classes.size(); ++i)
    text += fmt::format("  ROOFTILE_EMBED_{} = {},\n", e.classes[i].enumerator, i);
  return text +
         fmt::format("  ROOFTILE_EMBED_CLASSES = {}\n}} rooftile_embed_class;\n\n",
                     e.classes.size()) +
         part("features.h") + "\n" + part("api.h") + "\n";
}

std::string implementation(const Embedding& e) {
  std::string text =
      "#include <math.h>\n#include <stdlib.h>\n#include <string.h>\n\n"
      "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" +
      tables_text(e);
  for (const std::string_view name :
       {"plan.h", "choose.h", "device.h", "unpack.h", "overlap.h", "record.h"})
    text += part(name) + "\n";
  return text + "#ifdef __cplusplus\n}\n#endif\n\n";
}

}  // namespace

std::string c_header(const Embedding& e, const std::string& command) {
  const std::string first = declarations(e), second = implementation(e);
  constexpr std::size_t kDigits = 8;
  const std::string id = "0x" + hash_hex(first + second).substr(0, kDigits) + "u";
  return about(e, command) + "#ifndef ROOFTILE_EMBED_H_\n#define ROOFTILE_EMBED_H_ " + id + "\n\n" +
         first + "#elif ROOFTILE_EMBED_H_ != " + id +
         "\n#error \"a program has one header of rooftile embed: write one with all classes\"\n"
         "#endif /* ROOFTILE_EMBED_H_ */\n\n"
         "#if defined(ROOFTILE_EMBED_IMPLEMENTATION) && !defined(ROOFTILE_EMBED_IMPLEMENTED_)\n"
         "#define ROOFTILE_EMBED_IMPLEMENTED_\n\n" +
         second + "#endif /* ROOFTILE_EMBED_IMPLEMENTATION */\n";
}

}  // namespace rooftile
