#include "bench/contests/untuned_times.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <utility>

#include "core/error.h"

namespace rooftile {

std::vector<std::vector<std::string>> csv_rows(const std::string& name) {
  std::ifstream file(name);
  if (!file) fail(ErrorCode::kIo, "cannot read {}", name);
  std::vector<std::vector<std::string>> rows;
  bool header = true;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#' || std::exchange(header, false)) continue;
    std::istringstream cells(line);
    auto& row = rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
  }
  return rows;
}

std::map<std::string, std::vector<MeasuredKernel>> measured_kernels(const std::string& times,
                                                                    const std::string& kernels) {
  std::vector<MeasuredKernel> bare;
  for (const auto& row : csv_rows(kernels)) bare.push_back({parse_variant(row.at(1)), {}});
  std::map<std::string, std::vector<MeasuredKernel>> classes;
  for (const auto& row : csv_rows(times)) {
    auto& of_class = classes.try_emplace(row.at(0), bare).first->second;
    of_class.at(std::stoul(row.at(5)))
        .times.push_back({.m = std::stoll(row.at(1)),
                          .n = std::stoll(row.at(2)),
                          .k = std::stoll(row.at(3)),
                          .batch = std::stoll(row.at(4)),
                          .ns = std::stod(row.at(6))});
  }
  return classes;
}

Problem problem_of_class(const std::string& name) {
  return packed_problem(1, 1, 1, Transpose::kNo,
                        name.ends_with(".nt") ? Transpose::kYes : Transpose::kNo);
}

std::vector<MeasuredKernel> only(std::vector<MeasuredKernel> kernels,
                                 std::span<const MeasuredTime> problems) {
  for (MeasuredKernel& kernel : kernels)
    std::erase_if(kernel.times, [&](const MeasuredTime& t) {
      return std::ranges::none_of(problems,
                                  [&](const MeasuredTime& p) { return same_sizes(p, t); });
    });
  return kernels;
}

HeldOut held_out(const Problem& of_class, const DeviceRates& rates,
                 const std::vector<MeasuredKernel>& kernels, std::span<const MeasuredTime> known,
                 std::span<const MeasuredTime> held) {
  const std::vector<MeasuredKernel> measured = only(kernels, known);
  std::vector<MeasuredKernel> chosen;
  std::vector<std::size_t> rows;
  for (const std::size_t kernel :
       choose_portfolio(complete_table(measured), Selector::kMostKernels)) {
    chosen.push_back(measured[kernel]);
    rows.push_back(kernel);
  }
  const Selector selector(of_class, rates, chosen);
  const TimeTable table = complete_table(kernels);
  HeldOut found;
  for (const MeasuredTime& one : held) {
    const auto at = static_cast<std::size_t>(
        std::ranges::find_if(table.problems,
                             [&](const MeasuredTime& t) { return same_sizes(t, one); }) -
        table.problems.begin());
    const Selector::Times predicted = selector.predict_ns(
        packed_problem(one.m, one.n, one.k, of_class.trans_a, of_class.trans_b, one.batch));
    const auto first =
        static_cast<std::size_t>(std::ranges::min_element(predicted) - predicted.begin());
    const double ns = table.ns[rows[first]][at];
    found.errors.push_back(std::log(ns / predicted[first]));
    found.regrets.push_back(ns / table.problems[at].ns - 1);
  }
  return found;
}

}  // namespace rooftile
