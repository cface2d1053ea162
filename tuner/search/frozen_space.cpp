#include "tuner/search/frozen_space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <span>

#include "core/error.h"
#include "core/numbers/statistics.h"
#include "generator/priors/default_kernel.h"
#include "tuner/worker/worker_protocol.h"

namespace rooftile {
namespace {

constexpr std::array<std::string_view, 6> kMeasured = {"status", "kernel_ns", "mad_ns",
                                                       "count",  "pack_ns",   "compile_ns"};

std::vector<std::string> columns() {
  std::vector<std::string> names = parameter_names();
  names.insert(names.end(), kMeasured.begin(), kMeasured.end());
  return names;
}

std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' '; }, ' ');
  return text;
}

std::vector<std::string> texts(std::span<const Variant> variants) {
  std::vector<std::string> result;
  for (const Variant& variant : variants) result.push_back(to_string(variant));
  return result;
}

// Of a sample. The tuner takes far fewer; a file of a stranger may state any number.
constexpr std::size_t kMostValues = 4096;

FrozenPoint summarized(const Variant& variant, std::span<const SampleRecord> samples) {
  std::vector<double> medians, spreads, packs, compiles;
  FrozenPoint point{.variant = variant, .status = samples.back().status};
  for (const SampleRecord& sample : samples) {
    if (sample.status != SampleStatus::kMeasured) continue;
    // A sample counts as often as it has values.
    const std::size_t count = std::min(sample.kernel.count, kMostValues);
    medians.insert(medians.end(), count, sample.kernel.median_ns);
    spreads.insert(spreads.end(), count, sample.kernel.mad_ns);
    packs.push_back(sample.pack_ns);
    compiles.push_back(sample.compile_ns);
  }
  if (medians.empty() || point.status != SampleStatus::kMeasured) return point;
  point.kernel_ns = median(medians);
  point.mad_ns = std::max(median(spreads), median_absolute_deviation(medians));
  point.count = medians.size();
  point.pack_ns = median(packs);
  point.compile_ns = median(compiles);
  return point;
}

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(separator, at), line.size());
    parts.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

double parse_amount(std::string_view text, std::string_view column) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
      value < 0)
    fail(ErrorCode::kInvalidArgument, "{} is '{}'; it takes a number that is not negative", column,
         text);
  return value;
}

/// Splits the line that names the columns. Parameters that it leaves out have their defaults: they
/// are younger than the file.
std::vector<std::string_view> parse_header(std::string_view line) {
  std::vector<std::string_view> names = split(line, ',');
  const std::vector<std::string> known = parameter_names();
  const auto parameters =
      std::span(names).first(names.size() - std::min(names.size(), kMeasured.size()));
  const auto is_known = [&](std::string_view name) {
    return std::ranges::find(known, name) != known.end();
  };
  if (!std::ranges::all_of(parameters, is_known) ||
      !std::ranges::equal(std::span(names).subspan(parameters.size()), kMeasured))
    fail(ErrorCode::kInvalidArgument, "the columns are not this version's; export it anew");
  return names;
}

FrozenPoint parse_point(std::string_view line, std::span<const std::string_view> names) {
  const std::vector<std::string_view> values = split(line, ',');
  if (values.size() != names.size())
    fail(ErrorCode::kInvalidArgument, "{} columns, not the header's {}", values.size(),
         names.size());
  FrozenPoint point;
  const std::size_t parameters = names.size() - kMeasured.size();
  for (std::size_t i = 0; i < parameters; ++i) set_parameter(point.variant, names[i], values[i]);
  point.status = parse_sample_status(values[parameters]);
  const auto amount = [&](std::size_t i) {
    return parse_amount(values[parameters + i], kMeasured[i]);
  };
  point.kernel_ns = amount(1);
  point.mad_ns = amount(2);
  constexpr double kMostSamples = 1e9;
  const double samples = amount(3);
  if (samples > kMostSamples || samples != std::floor(samples))
    fail(ErrorCode::kInvalidArgument, "{} is '{}'; it takes a whole number up to 10^9",
         kMeasured[3], values[parameters + 3]);
  point.count = static_cast<std::size_t>(samples);
  point.pack_ns = amount(4);
  point.compile_ns = amount(5);
  if ((point.status == SampleStatus::kMeasured) != (point.kernel_ns > 0))
    fail(ErrorCode::kInvalidArgument, "a measured candidate has a time, and no other has");
  return point;
}

/// Rounded to the precision of a measurement. std::stod would refuse the smallest numbers, which a
/// stranger's database may hold.
double with_six_digits(double value) {
  const std::string text = fmt::format("{:.6g}", value);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

FrozenSpace frozen_space(const Store& store, const DeviceRecord& device, const Problem& problem) {
  FrozenSpace space{.device = one_line(device.profile.name),
                    .driver = one_line(device.profile.driver_info),
                    .problem = problem,
                    .starts = first_starts(device.profile, problem)};
  for (const Figure& figure : store.latest_calibration(device.id))
    if (figure.name.starts_with("device.")) space.figures.push_back(figure);
  const auto row = store.find_problem(problem);
  if (!row) return space;
  std::map<RowId, std::vector<SampleRecord>> samples;
  for (SampleRecord& sample : store.samples(device.id, *row))
    if (sample.purpose == SamplePurpose::kSearch)
      samples[sample.candidate].push_back(std::move(sample));
  for (const auto& [id, of_candidate] : samples)
    if (const auto candidate = store.candidate(id))  // Of a damaged file it may not be there.
      space.points.push_back(summarized(candidate->variant, of_candidate));
  std::ranges::sort(space.points, {}, [](const FrozenPoint& p) { return to_string(p.variant); });
  return space;
}

std::string to_csv(const FrozenSpace& space) {
  std::vector<Figure> figures = space.figures;
  for (Figure& figure : figures)
    for (double* value : {&figure.value, &figure.mad}) *value = with_six_digits(*value);
  std::string text = fmt::format("# {}\n{}\n",
                                 Json{{"device", space.device},
                                      {"driver", space.driver},
                                      {"problem", to_json(space.problem)},
                                      {"figures", to_json(figures)},
                                      {"starts", texts(space.starts)}}
                                     .dump(),
                                 fmt::join(columns(), ","));
  for (const FrozenPoint& point : space.points) {
    for (const auto& [name, value] : parameters(point.variant)) text += value + ",";
    text += fmt::format("{},{:.0f},{:.0f},{},{:.0f},{:.0f}\n", name(point.status), point.kernel_ns,
                        point.mad_ns, point.count, point.pack_ns, point.compile_ns);
  }
  return text;
}

FrozenSpace parse_frozen_space(std::string_view text, std::string_view name) {
  FrozenSpace space;
  std::size_t number = 0;
  std::vector<std::string_view> names;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    try {
      if (number == 1) {
        if (!line.starts_with("# {"))
          fail(ErrorCode::kInvalidArgument, "not a frozen space: the first line is '# ' and JSON");
        const std::optional<Json> parsed = Json::parse(line.substr(2));
        if (!parsed) fail(ErrorCode::kInvalidArgument, "what follows '# ' is no JSON");
        const Json& meta = *parsed;
        space.device = meta.at("device");
        space.driver = meta.at("driver");
        space.problem = problem_from_json(meta.at("problem"));
        validate(space.problem);
        space.figures = figures_from_json(meta.at("figures"));
        for (const Json& start : meta.at("starts"))
          space.starts.push_back(parse_variant(start.get<std::string>()));
      } else if (number == 2) {
        names = parse_header(line);
      } else if (!line.empty()) {
        space.points.push_back(parse_point(line, names));
      }
    } catch (const std::exception& error) {
      fail(ErrorCode::kInvalidArgument, "{}:{}: {}", name, number, error.what());
    }
  }
  if (space.points.empty()) fail(ErrorCode::kInvalidArgument, "{}: holds no candidate", name);
  return space;
}

}  // namespace rooftile
