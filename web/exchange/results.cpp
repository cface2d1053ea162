#include "web/exchange/results.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/byte_order_mark.h"
#include "core/device_kinds.h"
#include "core/error.h"
#include "core/hash.h"
#include "formats/result_json.h"
#include "generator/web/adapter.h"

namespace rooftile::web {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "rooftile-web-results";
constexpr int kVersion = 1;
// Far above what the page writes: a space has some thousand kernels.
constexpr std::size_t kMostBytes = 64 << 20, kMostProblems = 1000, kMostKernels = 100'000,
                      kMostSamples = 10'000, kLongestText = 200, kMostNested = 12;
constexpr double kLongestNs = 1e13, kShortestNs = 1;
constexpr double kMostFlopsPerNs = 1e9;  // An exaflop a second.
constexpr std::int64_t kLargestSize = 1 << 20;

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  Results read(const Json& json) const;

 private:
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> why, Args&&... args) const {
    fail(ErrorCode::kInvalidArgument, "{} cannot be imported: {}", name_,
         fmt::format(why, std::forward<Args>(args)...));
  }
  const Json& member(const Json& json, const char* name, Json::value_t type) const;
  std::string text(const Json& json, const char* name) const;
  std::int64_t size(const Json& json, const char* name) const;
  bool flag(const Json& json, const char* name) const;
  double time_ns(const Json& json, double least_ns) const;
  const Json& list(const Json& json, const char* name, std::size_t most) const;
  DeviceProfile device(const Json& json, const std::string& browser) const;
  std::vector<Figure> figures(const Json& json) const;
  Problem problem(const Json& json) const;
  MeasuredKernel kernel(const Json& json, double least_ns) const;

  const std::string& name_;
};

/// The browser names no product. The kind is that of most devices of the vendor; it decides which
/// searches the measurements seed.
DeviceKind usual_kind(std::uint32_t vendor_id) {
  switch (vendor_id) {
    case kAmd:
    case kNvidia:
      return DeviceKind::kDiscrete;
    case kApple:
    case kArm:
    case kIntel:
    case kQualcomm:
      return DeviceKind::kIntegrated;
    default:
      return DeviceKind::kOther;
  }
}

const Json& Reader::member(const Json& json, const char* name, Json::value_t type) const {
  const auto at = json.find(name);
  if (!json.is_object() || at == json.end() || at->type() != type)
    refuse("'{}' is missing or of another kind than the page writes", name);
  return *at;
}

std::string Reader::text(const Json& json, const char* name) const {
  const auto at = json.find(name);
  if (at == json.end()) return {};
  if (!at->is_string()) refuse("'{}' is no text", name);
  return printable(at->get<std::string>());
}

std::int64_t Reader::size(const Json& json, const char* name) const {
  const auto at = json.find(name);
  if (at == json.end() || !at->is_number_integer()) refuse("'{}' is no whole number", name);
  const auto value = at->get<std::int64_t>();
  if (value < 1 || value > kLargestSize)
    refuse("'{}' is {}, but sizes are between 1 and {}", name, at->dump(), kLargestSize);
  return value;
}

bool Reader::flag(const Json& json, const char* name) const {
  return member(json, name, Json::value_t::boolean).get<bool>();
}

double Reader::time_ns(const Json& json, double least_ns) const {
  if (!json.is_number()) refuse("a time is no number");
  const auto ns = json.get<double>();
  if (!(ns >= least_ns) || ns > kLongestNs)
    refuse("a time of {} ns is out of range ({} to {} ns)", ns, least_ns, kLongestNs);
  return ns;
}

const Json& Reader::list(const Json& json, const char* name, std::size_t most) const {
  const Json& values = member(json, name, Json::value_t::array);
  if (values.size() > most) refuse("'{}' has {} entries, more than {}", name, values.size(), most);
  return values;
}

DeviceProfile Reader::device(const Json& json, const std::string& browser) const {
  DeviceProfile profile;
  const std::string vendor = text(json, "vendor"), architecture = text(json, "architecture"),
                    name = text(json, "name");
  profile.name = name.empty() ? "unnamed WebGPU adapter" : name;
  profile.kind = usual_kind(webgpu_vendor_id(vendor));
  if (profile.kind != DeviceKind::kOther) profile.vendor_id = webgpu_vendor_id(vendor);
  if (flag(json, "software")) profile.kind = DeviceKind::kSoftware;
  profile.driver_name = "WebGPU";
  profile.driver_info = browser.empty() ? "unknown browser" : browser;
  // Browsers give no identity, so that equal adapters are one device here.
  profile.device_uuid = hash_hex("webgpu|" + vendor + '|' + architecture + '|' + profile.name);
  profile.pipeline_cache_uuid = hash_hex("webgpu|" + browser);
  return profile;
}

std::vector<Figure> Reader::figures(const Json& json) const {
  std::vector<Figure> figures;
  for (const auto& [name, value] : json.items()) {
    if (!name.starts_with("device.") || name.size() > kLongestText || printable(name) != name)
      refuse("'{}' is no figure of a calibration", printable(name));
    if (!value.is_number() || !(value.get<double>() > 0) || value.get<double>() > kLongestNs)
      refuse("the figure '{}' is out of range", name);
    const std::string_view unit = name.ends_with(".bandwidth")     ? "gbps"
                                  : name.starts_with("device.fma") ? "gflops"
                                                                   : "ns";
    figures.push_back(
        {.name = name, .unit = std::string(unit), .value = value.get<double>(), .count = 1});
  }
  return figures;
}

Problem Reader::problem(const Json& json) const {
  const auto types = member(json, "types", Json::value_t::string).get<std::string>();
  const auto transpose = [&](const char* name) {
    return flag(json, name) ? Transpose::kYes : Transpose::kNo;
  };
  Problem p = packed_problem(size(json, "m"), size(json, "n"), size(json, "k"),
                             transpose("trans_a"), transpose("trans_b"), size(json, "batch"), {});
  try {
    p.types = parse_types(types);
    validate(p.types);
    p = packed_problem(p.m, p.n, p.k, p.trans_a, p.trans_b, p.batch, p.types);
    validate(p);
    return p;
  } catch (const Error& error) {
    const std::string why = printable(error.what());
    refuse("it holds a problem that is none: {}", why);
  }
}

MeasuredKernel Reader::kernel(const Json& json, double least_ns) const {
  MeasuredKernel kernel;
  const auto variant = member(json, "variant", Json::value_t::string).get<std::string>();
  try {
    kernel.variant = parse_variant(variant);
  } catch (const Error& error) {
    const std::string why = printable(error.what());
    refuse("it holds a kernel that this version does not know: {}", why);
  }
  if (const auto failed = json.find("failed"); failed != json.end() && !failed->is_null()) {
    if (!failed->is_string()) refuse("'failed' is neither null nor a reason");
    return kernel;
  }
  for (const Json& value : list(json, "samples_ns", kMostSamples))
    kernel.samples_ns.push_back(time_ns(value, least_ns));
  return kernel;
}

Results Reader::read(const Json& json) const {
  if (!json.is_object()) refuse("it is no JSON object");
  if (text(json, "format") != kFormat)
    refuse("it is not exported by the page of `rooftile web`, and has no 'results' as T4 has");
  const auto version = json.find("version");
  if (version == json.end() || !version->is_number_integer()) refuse("it has no version");
  if (*version != kVersion)
    refuse(
        "its version is {}, and this Rooftile reads version {}: export it again from a page "
        "that this Rooftile wrote",
        version->dump(), kVersion);
  Results results;
  results.device = device(member(json, "adapter", Json::value_t::object), text(json, "browser"));
  if (json.contains("rates"))
    results.figures = figures(member(json, "rates", Json::value_t::object));
  std::size_t kernels = 0;
  for (const Json& entry : list(json, "problems", kMostProblems)) {
    MeasuredProblem measured{.problem = problem(member(entry, "problem", Json::value_t::object)),
                             .kernels = {}};
    const double least_ns = std::max(kShortestNs, flops(measured.problem) / kMostFlopsPerNs);
    for (const char* name : {"cpu_ns", "baseline_ns"})
      if (const auto at = entry.find(name); at != entry.end() && !at->is_null()) time_ns(*at, 0);
    for (const Json& part : list(entry, "kernels", kMostKernels)) {
      if (++kernels > kMostKernels) refuse("it holds more than {} kernels", kMostKernels);
      measured.kernels.push_back(kernel(part, least_ns));
    }
    results.problems.push_back(std::move(measured));
  }
  if (results.problems.empty()) refuse("it holds no problem");
  return results;
}

/// Parses without the recursion that hostile nesting would need.
Json parse(const std::string& text, const std::string& name) {
  const auto keep = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > static_cast<int>(kMostNested))
      fail(ErrorCode::kInvalidArgument, "{} cannot be imported: it is nested more than {} deep",
           name, kMostNested);
    return true;
  };
  try {
    return Json::parse(text, keep);
  } catch (const Json::exception& error) {
    fail(ErrorCode::kInvalidArgument, "{} cannot be imported: {}; export it again from the page",
         name, json_damage(error));
  }
}

}  // namespace

bool is_results_file(const std::filesystem::path& file) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown))
    return false;  // A pipe would be waited for.
  std::ifstream stream(file, std::ios::binary);
  skip_byte_order_mark(stream);
  char first = 0;
  return stream >> first && first == '{';
}

Results parse_results(const std::string& text, const std::string& name) {
  try {
    return Reader(name).read(parse(text, name));
  } catch (const Json::exception& error) {
    fail(ErrorCode::kInvalidArgument, "{} cannot be imported: {}", name, printable(error.what()));
  }
}

Results read_results(const std::filesystem::path& file) {
  std::error_code unknown;
  if (const auto bytes = std::filesystem::file_size(file, unknown); !unknown && bytes > kMostBytes)
    fail(ErrorCode::kInvalidArgument, "{} cannot be imported: it has {} bytes, more than {}",
         file.string(), bytes, kMostBytes);
  std::ifstream stream(file, std::ios::binary);
  if (!stream) fail(ErrorCode::kIo, "cannot read {}", file.string());
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  return parse_results(text, file.string());
}

}  // namespace rooftile::web
