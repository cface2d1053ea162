#include <cmath>

#include "report/json_values.h"
#include "report/page.h"

namespace rooftile {
namespace {

// Charts show no more digits of a number.
constexpr int kDigits = 5;

double rounded(double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const double last = std::floor(std::log10(std::abs(x))) - (kDigits - 1);
  const double unit = std::pow(10, std::abs(last));  // a power above 1 is exact
  return last > 0 ? std::round(x / unit) * unit : std::round(x * unit) / unit;
}

/// Shortens every number of a value to those digits; whole numbers lose their ".0" as well.
void shorten(Json& value) {
  constexpr double kExact = 9e15;  // of integers in a double
  if (value.is_structured()) {
    for (Json& part : value) shorten(part);
  } else if (value.is_number_float()) {
    const double x = rounded(value.get<double>());
    if (x == std::floor(x) && std::abs(x) < kExact)
      value = static_cast<std::int64_t>(x);
    else
      value = x;
  }
}

Json json_of(const SearchReport& search) {
  const SearchCurve& curve = search.curve;
  Json steps = Json::array();
  for (const SearchStep& step : curve.steps) steps.push_back({step.sample, step.s, step.ns});
  return {{"problem", search.problem},
          {"run", curve.run},
          {"began", curve.began},
          {"samples", curve.samples},
          {"failed", curve.failed},
          {"seconds", curve.seconds},
          {"steps", steps}};
}

Json json_of(const KernelMap& map) {
  Json kernel = Json::array(), ns = Json::array(), score = Json::array();
  for (const KernelMap::Cell& cell : map.cells) {
    kernel.push_back(cell.kernel);
    ns.push_back(json_known(cell.ns));
    score.push_back(json_known(cell.score));
  }
  return {
      {"sizes", map.sizes}, {"depths", map.depths}, {"kernels", map.kernels}, {"kernel", kernel},
      {"ns", ns},           {"score", score}};
}

/// Turns rows into columns, so that each name occurs once.
Json json_of(const Boundary& line) {
  Json tier = Json::array(), veto = Json::array(), factors = Json::object();
  for (const std::string_view factor : kFactorNames)
    factors[std::string(factor)] = {{"value", Json::array()}, {"ns", Json::array()}};
  const auto column = [&](double Decision::*time) {
    Json values = Json::array();
    for (const Decision& point : line.points) values.push_back(point.*time);
    return values;
  };
  for (const Decision& point : line.points) {
    tier.push_back(name(point.tier));
    veto.push_back(point.veto);
    for (const Factor& factor : point.factors) {
      Json& of_factor = factors[std::string(factor.name)];
      of_factor["value"].push_back(factor.value);
      of_factor["ns"].push_back(factor.ns);
    }
  }
  return {{"sizes", line.sizes},
          {"depths", line.depths},
          {"tier", tier},
          {"veto", veto},
          {"score", column(&Decision::score)},
          {"device_ns", column(&Decision::device_ns)},
          {"host_ns", column(&Decision::host_ns)},
          {"host1_ns", column(&Decision::host1_ns)},
          {"factors", factors}};
}

Json json_of(const DeviceCharts& charts) {
  Json device = json_of(charts.device, JsonDetail::kPage);
  Json searches = Json::array(), classes = Json::array();
  for (const SearchReport& search : charts.searches) searches.push_back(json_of(search));
  for (const ClassReport& report : charts.classes)
    classes.push_back({{"signature", report.signature},
                       {"tuned", report.tuned},
                       {"map", json_of(report.map)},
                       {"boundary", json_of(report.boundary)}});
  device.update({{"problems_left_out", charts.problems_left_out},
                 {"classes_left_out", charts.classes_left_out},
                 {"samples", charts.samples},
                 {"failed", charts.failed},
                 {"searches", searches},
                 {"classes", classes}});
  return device;
}

}  // namespace

std::string page_data(const Charts& charts) {
  Json devices = Json::array();
  for (const DeviceCharts& device : charts.devices) devices.push_back(json_of(device));
  Json all = {{"database", charts.database},
              {"devices_left_out", charts.devices_left_out},
              {"devices", std::move(devices)}};
  shorten(all);
  return json_text(all, -1);
}

}  // namespace rooftile
