#include "tuner/search/priors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/embedded_text.h"
#include "core/error.h"
#include "generator/space.h"

namespace rooftile {

std::span<const EmbeddedText> embedded_priors();  // Generated from priors/*.txt by the build.

namespace {

constexpr std::uint32_t kNvidia = 0x10de, kAmd = 0x1002, kIntel = 0x8086, kApple = 0x106b,
                        kArm = 0x13b5, kQualcomm = 0x5143;

bool multiplies(const DeviceProfile& device, DataType operand) {
  return std::ranges::any_of(device.limits.matrix_shapes,
                             [&](const MatrixShape& shape) { return shape.operand == operand; });
}

struct Table {
  std::string_view file;
  bool (*is_for)(const DeviceProfile&);
};
// Generations are recognised by their features, because a list of names would have to be kept up to
// date.
constexpr std::array<Table, 10> kTables = {{
    {"software.txt", [](const DeviceProfile& d) { return d.kind == DeviceKind::kSoftware; }},
    {"nvidia_bf16.txt",
     [](const DeviceProfile& d) {
       return d.vendor_id == kNvidia && multiplies(d, DataType::kBf16);
     }},
    {"nvidia_matrix.txt",
     [](const DeviceProfile& d) {
       return d.vendor_id == kNvidia && multiplies(d, DataType::kF16);
     }},
    {"nvidia.txt", [](const DeviceProfile& d) { return d.vendor_id == kNvidia; }},
    // RDNA also runs subgroups of 32.
    {"amd_cdna.txt",
     [](const DeviceProfile& d) {
       return d.vendor_id == kAmd && d.limits.min_subgroup_size == 64;
     }},
    {"amd_rdna.txt",
     [](const DeviceProfile& d) { return d.vendor_id == kAmd && d.limits.min_subgroup_size < 64; }},
    {"intel_xe.txt", [](const DeviceProfile& d) { return d.vendor_id == kIntel; }},
    {"apple.txt", [](const DeviceProfile& d) { return d.vendor_id == kApple; }},
    {"arm_mali.txt", [](const DeviceProfile& d) { return d.vendor_id == kArm; }},
    {"qualcomm_adreno.txt", [](const DeviceProfile& d) { return d.vendor_id == kQualcomm; }},
}};

constexpr std::int64_t kLeastLarge = 256, kMostThin = 8, kMostBatched = 64;

std::string_view kind_of(const Problem& p) {
  const std::int64_t shorter = std::min(p.m, p.n);
  return shorter <= kMostThin ? "thin" : shorter >= kLeastLarge ? "large" : "small";
}
/// Whether a batch consists of matrices that are too small to fill a workgroup each.
bool is_batched(const Problem& p) { return p.batch > 1 && std::max(p.m, p.n) <= kMostBatched; }
std::string_view operands_of(const Problem& p) {
  return quantized(p.types) ? "quantized" : name(p.types.a);
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

std::string_view text_of(std::string_view table) {
  for (const EmbeddedText& entry : embedded_priors())
    if (entry.name == table) return entry.text;
  fail(ErrorCode::kInternal, "there is no table of priors '{}' in this build", table);
}

template <typename Keep>
std::vector<Prior> read(std::string_view table, Keep keep) {
  std::vector<Prior> priors;
  std::string_view text = text_of(table);
  for (int line_number = 1; !text.empty(); ++line_number) {
    std::string_view line = take_field(text, '\n');
    if (line.empty() || line.starts_with('#')) continue;
    const std::string_view operands = take_field(line, '|'), problems = take_field(line, '|'),
                           variant = take_field(line, '|');
    if (operands.empty() || problems.empty() || variant.empty() || trimmed(line).empty())
      fail(ErrorCode::kInvalidArgument, "{}:{}: a prior is 'operands | problems | kernel | source'",
           table, line_number);
    if (!keep(operands, problems)) continue;
    priors.push_back({parse_variant(variant), std::string(trimmed(line))});
  }
  return priors;
}

}  // namespace

std::vector<std::string_view> prior_tables(const DeviceProfile& device) {
  std::vector<std::string_view> tables;
  for (const Table& table : kTables)
    if (table.is_for(device)) tables.push_back(table.file);
  return tables;
}

std::vector<Prior> priors_in(std::string_view table, const Problem& p) {
  return read(table, [&](std::string_view operands, std::string_view problems) {
    return lists(operands, operands_of(p)) &&
           (lists(problems, kind_of(p)) || (is_batched(p) && lists(problems, "batched")));
  });
}

std::vector<Prior> priors_for(const DeviceProfile& device, const Problem& p) {
  std::vector<Prior> all;
  for (std::string_view table : prior_tables(device))
    for (Prior& prior : priors_in(table, p)) all.push_back(std::move(prior));
  return all;
}

std::vector<Variant> first_starts(const DeviceProfile& device, const Problem& p) {
  std::vector<Variant> starts = {default_variant(device)};
  for (const Prior& prior : priors_for(device, p)) starts.push_back(prior.variant);
  return starts;
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
