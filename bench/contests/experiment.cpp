#include "bench/contests/experiment.h"

#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>

#include "core/byte_order_mark.h"
#include "core/error.h"

namespace rooftile {
namespace {

constexpr std::string_view kHeader =
    "experiment,m,n,k,trans_a,trans_b,batch,type,baseline,variant,expected,seconds,hypothesis";
enum Column : std::size_t {
  kName,
  kM,
  kN,
  kK,
  kTransA,
  kTransB,
  kBatch,
  kType,
  kBaseline,
  kVariant,
  kExpected,
  kSeconds,
  kHypothesis,
  kColumns
};
using Cells = std::array<std::string, kColumns>;

/// The last column holds the rest of the line, commas included.
Cells cells_of(std::string_view line) {
  Cells cells;
  for (std::size_t i = 0; i + 1 < kColumns; ++i) {
    const std::size_t comma = line.find(',');
    if (comma == std::string_view::npos)
      fail(ErrorCode::kInvalidArgument, "too few columns; the header is {}", kHeader);
    cells[i] = line.substr(0, comma);
    line.remove_prefix(comma + 1);
  }
  cells[kHypothesis] = line;
  return cells;
}

template <typename Number>
Number number(const Cells& cells, Column column, Number least, Number most) {
  static const Cells names = cells_of(kHeader);
  const std::string& text = cells[column];
  Number value = {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least) ||
      !(value <= most))
    fail(ErrorCode::kInvalidArgument, "{} is '{}'; it is a number from {} to {}", names[column],
         text, least, most);
  return value;
}

Experiment experiment_of(const Cells& cells) {
  constexpr std::int64_t kMostSize = std::int64_t{1} << 31;
  const auto size = [&](Column column) {
    return number<std::int64_t>(cells, column, 1, kMostSize);
  };
  const auto transpose = [&](Column column) {
    return number<std::int64_t>(cells, column, 0, 1) == 1 ? Transpose::kYes : Transpose::kNo;
  };
  Experiment one = {
      .name = cells[kName],
      .problem = packed_problem(size(kM), size(kN), size(kK), transpose(kTransA),
                                transpose(kTransB), size(kBatch), parse_types(cells[kType])),
      .baseline = parse_variant(cells[kBaseline]),
      .variant = {},
      .expected = number<double>(cells, kExpected, 0.01, 100),
      .seconds = number<double>(cells, kSeconds, 0.01, 600),
      .hypothesis = cells[kHypothesis]};
  if (one.name.empty() || one.hypothesis.empty())
    fail(ErrorCode::kInvalidArgument, "an experiment needs a name and a hypothesis");
  one.variant = with_settings(one.baseline, parse_settings(cells[kVariant]));
  if (one.variant == one.baseline)
    fail(ErrorCode::kInvalidArgument, "'{}' changes nothing of the baseline", cells[kVariant]);
  validate(one.problem);
  return one;
}

}  // namespace

std::vector<Experiment> read_experiments(const std::filesystem::path& file) {
  std::ifstream text(file);
  if (!text) fail(ErrorCode::kIo, "cannot read {}", file.string());
  skip_byte_order_mark(text);
  std::vector<Experiment> all;
  std::optional<Cells> before;
  std::string line;
  for (int at = 1; std::getline(text, line); ++at) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    try {
      if (!before) {
        if (line != kHeader) fail(ErrorCode::kInvalidArgument, "the header is {}", kHeader);
        before.emplace();
        continue;
      }
      Cells cells = cells_of(line);
      for (const Column column : {kName, kType, kBaseline, kExpected, kSeconds, kHypothesis})
        if (cells[column].empty()) cells[column] = (*before)[column];
      all.push_back(experiment_of(cells));
      before = std::move(cells);
    } catch (const Error& error) {  // An error in a file is not an invalid argument of the caller.
      fail(ErrorCode::kIo, "{}:{}: {}", file.string(), at, error.what());
    }
  }
  if (all.empty()) fail(ErrorCode::kIo, "{}: holds no experiment", file.string());
  return all;
}

std::string_view verdict(double expected, const Interval& ratio) {
  if (expected == 1) return ratio.high < 1 ? "faster" : ratio.low > 1 ? "slower" : "equal";
  const double halfway = std::sqrt(expected);
  const bool below = ratio.high < halfway;
  const bool above = ratio.low > halfway;
  if (!below && !above) return "open";
  return below == (expected < 1) ? "as expected" : "not so";
}

}  // namespace rooftile
