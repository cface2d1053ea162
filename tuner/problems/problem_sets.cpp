#include "tuner/problems/problem_sets.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <sstream>
#include <utility>

#include "core/byte_order_mark.h"
#include "core/embedded_text.h"
#include "core/error.h"
#include "core/files/text_file.h"
#include "core/groups.h"
#include "core/text_table.h"

namespace rooftile {

std::span<const EmbeddedText> embedded_shapes();  // bench/shapes/*.csv, generated at build time.

namespace {

constexpr std::string_view kHeader = "m,n,k,trans_a,trans_b,batch,note",
                           kTypedHeader = "m,n,k,trans_a,trans_b,batch,type,epilogue,note",
                           kGroupedHeader =
                               "m,n,k,trans_a,trans_b,batch,type,epilogue,groups,skew,note";

/// The columns of a file.
enum class Columns : std::uint8_t { kPlain, kTyped, kGrouped };
constexpr std::size_t kNumbers = 6;  // Columns before type, epilogue and note.

std::int64_t parse_number(std::string_view text, const std::string& where,
                          std::string_view column) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    fail(ErrorCode::kInvalidArgument,
         "{}: {} is '{}'; it takes a whole number that is not negative and fits 63 bits", where,
         column, text);
  return value;
}

Transpose parse_transpose(std::int64_t value, const std::string& where) {
  if (value > 1) fail(ErrorCode::kInvalidArgument, "{}: trans_a and trans_b are 0 or 1", where);
  return value == 1 ? Transpose::kYes : Transpose::kNo;
}

std::int64_t parse_groups(std::string_view text, const std::string& where) {
  const std::int64_t groups = parse_number(text, where, "groups");
  if (groups < 1 || groups > kMostTunedGroups)
    fail(ErrorCode::kInvalidArgument, "{}: groups is {}; it takes 1 to {}", where, groups,
         kMostTunedGroups);
  return groups;
}

constexpr double kMostSkew = 1e18;

double parse_skew(std::string_view text, const std::string& where) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(value >= 1 && value <= kMostSkew))
    fail(ErrorCode::kInvalidArgument, "{}: skew is '{}'; it takes a number from 1 to {:g}", where,
         text, kMostSkew);
  return value;
}

TuneProblem parse_line(std::string_view line, const std::string& where, Columns columns) {
  std::array<std::int64_t, kNumbers> numbers = {};
  constexpr std::array<std::string_view, kNumbers> kColumns = {"m",       "n",       "k",
                                                               "trans_a", "trans_b", "batch"};
  std::size_t at = 0;
  for (std::size_t i = 0; i < kNumbers; ++i) {
    const std::size_t comma = std::min(line.find(',', at), line.size());
    if (at > line.size())
      fail(ErrorCode::kInvalidArgument, "{}: too few columns; the header is {}", where, kHeader);
    numbers[i] = parse_number(line.substr(at, comma - at), where, kColumns[i]);
    at = comma + 1;
  }
  TuneProblem problem;
  problem.problem =
      packed_problem(numbers[0], numbers[1], numbers[2], parse_transpose(numbers[3], where),
                     parse_transpose(numbers[4], where), numbers[5]);
  const auto text = [&] {
    const std::size_t comma = std::min(line.find(',', at), line.size());
    if (at > line.size())
      fail(ErrorCode::kInvalidArgument, "{}: too few columns; the header is {}", where,
           columns == Columns::kTyped ? kTypedHeader : kGroupedHeader);
    const std::string_view column = line.substr(at, comma - at);
    at = comma + 1;
    return column;
  };
  if (columns != Columns::kPlain) try {
      problem.problem = retyped(problem.problem, parse_types(text()));
      problem.problem.epilogue = parse_epilogue(text());
    } catch (const Error& error) {
      fail(ErrorCode::kInvalidArgument, "{}: {}", where, error.what());
    }
  if (columns == Columns::kGrouped) {
    const std::string_view groups = text(), skew = text();
    if (!groups.empty())
      problem.problem = typical_problem(problem.problem, parse_groups(groups, where), 0,
                                        skew.empty() ? 1 : parse_skew(skew, where));
    else if (!skew.empty())
      fail(ErrorCode::kInvalidArgument, "{}: skew is '{}', but there are no groups", where, skew);
  }
  if (at <= line.size()) problem.note = line.substr(at);
  const Problem& p = problem.problem;
  if (std::min({p.m, p.n, p.k, p.batch}) < 1)
    fail(ErrorCode::kInvalidArgument, "{}: m, n, k and batch must be at least 1", where);
  try {
    validate(p);
  } catch (const Error& error) {
    fail(ErrorCode::kInvalidArgument, "{}: {}", where, error.what());
  }
  return problem;
}

std::vector<TuneProblem> parse(std::istream& text, std::string_view file) {
  std::vector<TuneProblem> problems;
  std::map<std::string, std::size_t> places;
  std::string line;
  bool header = false;
  Columns columns = Columns::kPlain;
  for (int number = 1; std::getline(text, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    const std::string where = fmt::format("{}:{}", file, number);
    if (line.find('\0') != std::string::npos)
      fail(ErrorCode::kInvalidArgument,
           "{}: the line holds a zero byte, as text in UTF-16 does; save the file as UTF-8", where);
    if (!header) {
      if (line == kTypedHeader)
        columns = Columns::kTyped;
      else if (line == kGroupedHeader)
        columns = Columns::kGrouped;
      else if (line != kHeader)
        fail(ErrorCode::kInvalidArgument, "{}: the first line must be '{}', '{}' or '{}'", where,
             kHeader, kTypedHeader, kGroupedHeader);
      header = true;
      continue;
    }
    TuneProblem problem = parse_line(line, where, columns);
    const auto [place, fresh] = places.try_emplace(to_string(problem.problem), problems.size());
    if (fresh)
      problems.push_back(std::move(problem));
    else
      problems[place->second].weight += problem.weight;
  }
  if (problems.empty()) fail(ErrorCode::kInvalidArgument, "{}: holds no problem", file);
  return problems;
}

}  // namespace

std::vector<std::string> problem_set_names() {
  std::vector<std::string> names;
  for (const EmbeddedText& file : embedded_shapes())
    names.emplace_back(file.name.substr(0, file.name.rfind('.')));
  return names;
}

std::vector<TuneProblem> problem_set(std::string_view name) {
  for (const EmbeddedText& file : embedded_shapes()) {
    if (file.name.substr(0, file.name.rfind('.')) != name) continue;
    std::istringstream text{std::string(file.text)};
    return parse(text, file.name);
  }
  fail(ErrorCode::kInvalidArgument, "unknown problem set '{}'; known: {}", name,
       fmt::join(problem_set_names(), ", "));
}

std::vector<TuneProblem> read_problem_csv(const std::filesystem::path& file) {
  std::istringstream text(read_text_file(file));
  skip_byte_order_mark(text);
  try {
    return parse(text, file.string());
  } catch (const Error& error) {  // An error in a file is not an invalid argument of the caller.
    fail(ErrorCode::kIo, "{}", cleaned_text(error.what()));
  }
}

}  // namespace rooftile
