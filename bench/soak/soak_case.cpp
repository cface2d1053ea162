#include "soak_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <span>

#include "core/error.h"
#include "core/quantized.h"

namespace rooftile {
namespace {

constexpr std::array<std::string_view, 4> kSpecialNames = {"nothing", "denormals", "infinities",
                                                           "nan"},
                                          kAliasNames = {"none", "ab", "residual", "c_in_a"};
constexpr std::array<std::string_view, 3> kHostNames = {"slow", "even", "fast"};
constexpr std::array<std::string_view, 7> kAccuracyNames = {
    "default", "relaxed", "standard", "high", "exact64", "half", "int8"};
constexpr std::array<std::string_view, 2> kLayoutNames = {"row", "column"},
                                          kOperandNames = {"a", "b"};
// Leading dimensions and strides, by their words in a line.
constexpr std::array<std::pair<const char*, std::int64_t Problem::*>, 6> kStrides = {
    {{"lda", &Problem::lda},
     {"ldb", &Problem::ldb},
     {"ldc", &Problem::ldc},
     {"stride_a", &Problem::stride_a},
     {"stride_b", &Problem::stride_b},
     {"stride_c", &Problem::stride_c}}};

template <typename Enum>
std::string_view name_of(std::span<const std::string_view> names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

/// The words of a line. Each is taken once; what is left over is unknown.
class Words {
 public:
  explicit Words(std::string_view line) {
    for (const auto& [word, value] : parse_settings(line)) words_[word] = value;
  }
  std::string take(const std::string& word, std::string_view otherwise) {
    const auto found = words_.find(word);
    if (found == words_.end()) return std::string(otherwise);
    std::string value = std::move(found->second);
    words_.erase(found);
    return value;
  }
  template <typename Number>
  Number number(const std::string& word, Number otherwise) {
    const std::string text = take(word, "");
    if (text.empty()) return otherwise;
    Number value = otherwise;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size())
      fail(ErrorCode::kInvalidArgument, "{}={} is no number", word, text);
    return value;
  }
  bool flag(const std::string& word) { return number(word, 0) != 0; }
  template <typename Enum>
  Enum one_of(const std::string& word, std::span<const std::string_view> names, Enum otherwise) {
    const std::string text = take(word, name_of(names, otherwise));
    const auto found = std::ranges::find(names, text);
    if (found == names.end())
      fail(ErrorCode::kInvalidArgument, "{}={}: known are {}", word, text, fmt::join(names, ", "));
    return static_cast<Enum>(found - names.begin());
  }
  /// The words that name parameters of a kernel.
  Variant kernel() {
    ParameterSettings settings;
    for (const std::string& parameter : parameter_names())
      if (words_.contains(parameter)) settings.emplace_back(parameter, take(parameter, ""));
    return with_settings({}, settings);
  }
  void expect_none_left() const {
    if (!words_.empty())
      fail(ErrorCode::kInvalidArgument, "{} is no word of a case", words_.begin()->first);
  }

 private:
  std::map<std::string, std::string> words_;
};

std::vector<Group> parse_groups(const std::string& text) {
  std::vector<Group> groups;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view part = std::string_view(text).substr(at, end - at);
    Group group;
    const char* const last = part.data() + part.size();
    const auto expert = std::from_chars(part.data(), last, group.expert);
    if (expert.ec != std::errc() || expert.ptr == last || *expert.ptr != ':' ||
        std::from_chars(expert.ptr + 1, last, group.rows).ptr != last)
      fail(ErrorCode::kInvalidArgument, "groups={}: expert:rows,expert:rows is expected", text);
    groups.push_back(group);
    at = end + 1;
  }
  return groups;
}

std::string to_string(std::span<const Group> groups) {
  std::string text;
  for (const Group& group : groups)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", group.expert, group.rows);
  return text;
}

Problem smallest(const Problem& p) {
  return is_grouped(p) ? grouped_problem(p.m, p.n, p.k, p.grouping, p.trans_b, p.types)
                       : packed_problem(p.m, p.n, p.k, p.trans_a, p.trans_b, p.batch, p.types);
}

Transpose transpose_of(char letter) { return letter == 't' ? Transpose::kYes : Transpose::kNo; }

Problem parse_problem(Words& words, const std::vector<Group>& groups) {
  Problem p;
  p.types = parse_types(words.take("types", "f32"));
  const std::string trans = words.take("trans", "nn");
  if (trans.size() != 2 || trans.find_first_not_of("nt") != std::string::npos)
    fail(ErrorCode::kInvalidArgument, "trans={}: two of n and t are expected", trans);
  p.trans_a = transpose_of(trans[0]);
  p.trans_b = transpose_of(trans[1]);
  p.m = words.number<std::int64_t>("m", 1);
  p.n = words.number<std::int64_t>("n", 1);
  p.k = words.number<std::int64_t>("k", 1);
  p.batch = words.number<std::int64_t>("batch", 1);
  const auto experts = words.number<std::int64_t>("experts", 0);
  if (experts > 0) p.grouping = grouping_of(groups, experts);
  p = smallest(p);
  for (const auto& [word, member] : kStrides)
    p.*member = words.number<std::int64_t>(word, p.*member);
  p.alpha = words.number<float>("alpha", 1);
  p.beta = words.number<float>("beta", 0);
  p.epilogue = parse_epilogue(words.take("epilogue", ""));
  set_clamp_limits(p);
  return p;
}

std::string to_string_of_problem(const Problem& p) {
  std::string text = fmt::format("types={} trans={}{} m={} n={} k={}", to_string(p.types),
                                 letter(p.trans_a), letter(p.trans_b), p.m, p.n, p.k);
  if (p.batch != 1) text += fmt::format(" batch={}", p.batch);
  const Problem least = smallest(p);
  for (const auto& [word, member] : kStrides)
    if (p.*member != least.*member) text += fmt::format(" {}={}", word, p.*member);
  if (p.alpha != 1) text += fmt::format(" alpha={}", p.alpha);
  if (p.beta != 0) text += fmt::format(" beta={}", p.beta);
  if (any(p.epilogue)) text += fmt::format(" epilogue={}", to_string(p.epilogue));
  return text;
}

}  // namespace

std::string to_string(const SoakCase& test) {
  const SoakCase plain;
  std::string text =
      fmt::format("way={} {}", name_of(kWayNames, test.way), to_string_of_problem(test.problem));
  const auto add = [&](std::string_view word, std::span<const std::string_view> names, auto value,
                       auto otherwise) {
    if (value != otherwise) text += fmt::format(" {}={}", word, name_of(names, value));
  };
  if (is_grouped(test.problem)) text += fmt::format(" experts={}", test.problem.grouping.experts);
  if (!test.groups.empty()) text += fmt::format(" groups={}", to_string(test.groups));
  add("layout", kLayoutNames, test.layout, plain.layout);
  add("tier", tier_choice_names(), test.tier, plain.tier);
  add("accuracy", kAccuracyNames, test.accuracy, plain.accuracy);
  add("special", kSpecialNames, test.special, plain.special);
  add("alias", kAliasNames, test.alias, plain.alias);
  add("host", kHostNames, test.host, plain.host);
  add("packed", kOperandNames, test.packed, plain.packed);
  for (const auto& [word, on] : {std::pair{"scan", test.scan},
                                 {"spots", test.spots},
                                 {"deterministic", test.deterministic},
                                 {"nan_in_c", test.nan_in_c},
                                 {"original", test.original}})
    if (on) text += fmt::format(" {}=1", word);
  if (test.shift != 0) text += fmt::format(" shift={}", test.shift);
  if (test.seed != 0) text += fmt::format(" seed={}", test.seed);
  if (test.tuned != signature_of(test.problem))
    text += fmt::format(" tuned={}", to_string(test.tuned));
  const auto usual = parameters({.family = test.kernel.family});
  for (std::size_t i = 0; const auto& [parameter, value] : parameters(test.kernel))
    if (const bool is_usual = value == usual[i++].second; !is_usual || parameter == "family")
      text += fmt::format(" {}={}", parameter, value);
  return text;
}

SoakCase parse_case(std::string_view line) {
  Words words(line);
  SoakCase test;
  test.kernel = words.kernel();
  test.way = words.one_of("way", kWayNames, test.way);
  test.groups = parse_groups(words.take("groups", ""));
  test.problem = parse_problem(words, test.groups);
  test.layout = words.one_of("layout", kLayoutNames, test.layout);
  test.tier = words.one_of("tier", tier_choice_names(), test.tier);
  test.accuracy = words.one_of("accuracy", kAccuracyNames, test.accuracy);
  test.special = words.one_of("special", kSpecialNames, test.special);
  test.alias = words.one_of("alias", kAliasNames, test.alias);
  test.host = words.one_of("host", kHostNames, test.host);
  test.packed = words.one_of("packed", kOperandNames, test.packed);
  test.scan = words.flag("scan");
  test.spots = words.flag("spots");
  test.deterministic = words.flag("deterministic");
  test.nan_in_c = words.flag("nan_in_c");
  test.original = words.flag("original");
  test.shift = words.number("shift", 0);
  test.seed = words.number<std::uint64_t>("seed", 0);
  const std::string tuned = words.take("tuned", "");
  test.tuned = tuned.empty() ? signature_of(test.problem) : parse_signature(tuned);
  words.expect_none_left();
  return test;
}

}  // namespace rooftile
