#include "generator/priors/priors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/block_layout.h"
#include "core/device_kinds.h"
#include "core/embedded_text.h"
#include "core/error.h"
#include "generator/layout.h"

namespace rooftile {

std::span<const EmbeddedText> embedded_priors();  // Generated from priors/*.txt by the build.

namespace {

struct Table {
  std::string_view file;
  bool (*is_for)(const DeviceProfile&);
};
// Generations are recognised by their features, because a list of names would have to be kept up to
// date.
constexpr std::array<Table, 11> kTables = {{
    {"software.txt", [](const DeviceProfile& d) { return d.kind == DeviceKind::kSoftware; }},
    {"nvidia_bf16.txt",
     [](const DeviceProfile& d) {
       return d.vendor_id == kNvidia && multiplies_matrices(d.limits, DataType::kBf16);
     }},
    {"nvidia_matrix.txt",
     [](const DeviceProfile& d) {
       return d.vendor_id == kNvidia && multiplies_matrices(d.limits, DataType::kF16);
     }},
    {"nvidia.txt", [](const DeviceProfile& d) { return d.vendor_id == kNvidia; }},
    {"amd_cdna.txt", is_amd_cdna},
    {"amd_rdna.txt", [](const DeviceProfile& d) { return d.vendor_id == kAmd && !is_amd_cdna(d); }},
    {"intel_xmx.txt",
     [](const DeviceProfile& d) { return d.vendor_id == kIntel && !emulates_matrix_units(d); }},
    {"intel_xe.txt", [](const DeviceProfile& d) { return d.vendor_id == kIntel; }},
    {"apple.txt", [](const DeviceProfile& d) { return d.vendor_id == kApple; }},
    {"arm_mali.txt", [](const DeviceProfile& d) { return d.vendor_id == kArm; }},
    {"qualcomm_adreno.txt", [](const DeviceProfile& d) { return d.vendor_id == kQualcomm; }},
}};

constexpr std::int64_t kLeastLarge = 256, kMostThin = 8, kMostBatched = 64;

/// The words by which a line may name the operands. The name of a GGUF file's format is one. Where
/// A may be rounded to 8 bits, another one says whether trips of 64 steps are whole windows of B.
std::vector<std::string_view> operands_of(const Types& types) {
  if (!quantized(types)) return {name(types.a)};
  std::vector<std::string_view> words = {"quantized"};
  if (has_block_format(types)) words.push_back(layout_of(types.b.format).name);
  if (types.rounding == Rounding::kInt8)
    words.push_back(least_window(types.b.format) > 64 ? "windows_128_int8" : "quantized_int8");
  return words;
}

/// How A and B are stored, as a line names it where it is not for all ("nt": B is transposed).
std::string_view transposes_of(const Problem& p) {
  const bool b = p.trans_b == Transpose::kYes;
  if (p.trans_a == Transpose::kYes) return b ? "tt" : "tn";
  return b ? "nt" : "nn";
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// Removes and returns the text before the separator, or all of it.
std::string_view take_field(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view field = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return trimmed(field);
}

bool lists(std::string_view words, std::string_view wanted) {
  while (!words.empty())
    if (take_field(words, ',') == wanted) return true;
  return false;
}

/// Whether the words of a line hold the operands' type, and not the transposes after a '!'.
bool is_for_operands(std::string_view words, const Problem& p) {
  return std::ranges::any_of(operands_of(p.types), [&](auto word) { return lists(words, word); }) &&
         !lists(words, fmt::format("!{}", transposes_of(p)));
}

/// A line of a table.
struct Line {
  std::string_view operands, problems;
  Prior prior;
};

std::vector<Line> parse(std::string_view table, std::string_view text) {
  std::vector<Line> lines;
  for (int line_number = 1; !text.empty(); ++line_number) {
    std::string_view line = take_field(text, '\n');
    if (line.empty() || line.starts_with('#')) continue;
    const std::string_view operands = take_field(line, '|'), problems = take_field(line, '|'),
                           variant = take_field(line, '|');
    if (operands.empty() || problems.empty() || variant.empty() || trimmed(line).empty())
      fail(ErrorCode::kInvalidArgument, "{}:{}: a prior is 'operands | problems | kernel | source'",
           table, line_number);
    lines.push_back({operands, problems, {parse_variant(variant), std::string(trimmed(line))}});
  }
  return lines;
}

/// The lines of a table. Calls ask for kernels, so that each table is parsed once.
const std::vector<Line>& lines_of(std::string_view table) {
  static const auto kLines = [] {
    std::map<std::string_view, std::vector<Line>> lines;
    for (const EmbeddedText& entry : embedded_priors())
      lines[entry.name] = parse(entry.name, entry.text);
    return lines;
  }();
  const auto found = kLines.find(table);
  if (found == kLines.end())
    fail(ErrorCode::kInternal, "there is no table of priors '{}' in this build", table);
  return found->second;
}

template <typename Keep>
std::vector<Prior> read(std::string_view table, Keep keep) {
  std::vector<Prior> priors;
  for (const Line& line : lines_of(table))
    if (keep(line.operands, line.problems)) priors.push_back(line.prior);
  return priors;
}

}  // namespace

std::vector<std::string_view> prior_tables(const DeviceProfile& device) {
  std::vector<std::string_view> tables;
  for (const Table& table : kTables)
    if (table.is_for(device)) tables.push_back(table.file);
  return tables;
}

std::vector<std::string_view> kinds_of(const Problem& p) {
  const std::int64_t shorter = std::min(p.m, p.n);
  std::vector<std::string_view> kinds;
  if (shorter <= kMostThin) {
    kinds = {"thin"};
    if (p.m <= p.n)
      kinds.push_back(p.m == 1 ? "row" : "rows");
    else
      kinds.push_back(p.n == 1 ? "column" : "columns");
  } else if (shorter >= kLeastLarge) {
    kinds = {"large"};
  } else {
    kinds = {"small"};
    if (std::max(p.m, p.n) >= kLeastLarge) kinds.push_back("skinny");
  }
  // Matrices that are too small to fill a workgroup each.
  if (p.batch > 1 && std::max(p.m, p.n) <= kMostBatched) kinds.push_back("batched");
  return kinds;
}

std::vector<Prior> priors_in(std::string_view table, const Problem& p) {
  const std::vector<std::string_view> kinds = kinds_of(p);
  return read(table, [&](std::string_view operands, std::string_view problems) {
    return is_for_operands(operands, p) &&
           std::ranges::any_of(kinds, [&](auto kind) { return lists(problems, kind); });
  });
}

std::vector<Prior> priors_for(const DeviceProfile& device, const Problem& p) {
  std::vector<Prior> all;
  for (std::string_view table : prior_tables(device))
    for (Prior& prior : priors_in(table, p)) all.push_back(std::move(prior));
  return all;
}

std::vector<Prior> priors_for_kind(const DeviceProfile& device, const Problem& p,
                                   std::string_view kind) {
  std::vector<Prior> all;
  for (std::string_view table : prior_tables(device))
    for (Prior& prior : read(table, [&](std::string_view operands, std::string_view problems) {
           return is_for_operands(operands, p) && lists(problems, kind);
         }))
      all.push_back(std::move(prior));
  return all;
}

std::vector<std::string_view> all_prior_tables() {
  std::vector<std::string_view> tables;
  for (const EmbeddedText& entry : embedded_priors()) tables.push_back(entry.name);
  return tables;
}

std::vector<Prior> all_priors_in(std::string_view table) {
  return read(table, [](std::string_view, std::string_view) { return true; });
}

}  // namespace rooftile
