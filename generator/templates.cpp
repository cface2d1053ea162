#include "generator/templates.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>

#include "core/block_layout.h"
#include "core/error.h"
#include "core/variant.h"
#include "generator/conditions.h"
#include "generator/template_lines.h"
#include "generator/used_lines.h"

namespace rooftile {
namespace {

using Kind = TemplateLine::Kind;

/// Values of names in conditions, besides those of a variant's parameters.
constexpr std::string_view kWords[] = {
    "F32",       "F16",       "BF16",     "I8",    "U8", "I32",
    "U32",       "F64",                                        // TYPE and other types
    "PLAIN",     "QUANTIZED", "BLOCKS",                        // B_FORMAT
    "MIDDLE",    "PACKED",    "FLOAT",                         // ZERO_POINT
    "SUBGROUPS", "WHOLE",     "NARROWED", "NONE",  "A",  "B",  // LANES, FRAGMENT_STORES, OPERAND
    "COPY",      "SCALE",     "ADD",      "TRIAD",             // STREAM
    "INTEGER",   "INT8",      "E2M1",     "IQ4",               // BLOCK_CODE
};

constexpr std::int64_t kFirstWord = 1000;  // above all numbers that conditions compare

/// Each word with its number, from kFirstWord on.
const std::unordered_map<std::string, std::string>& words() {
  static const std::unordered_map<std::string, std::string> numbers = [] {
    std::unordered_map<std::string, std::string> result;
    const auto add = [&](std::string_view word) {
      result.emplace(word, std::to_string(kFirstWord + static_cast<std::int64_t>(result.size())));
    };
    for (const std::string& parameter : parameter_names()) {
      const std::string values = in_capitals(parameter_values(parameter));
      if (values.find(", ") == std::string::npos) continue;  // numbers
      for (std::size_t at = 0, end = 0; end != std::string::npos; at = end + 2) {
        end = values.find(", ", at);
        add(std::string_view(values).substr(at, end - at));
      }
    }
    for (const std::string_view word : kWords) add(word);
    for (const BlockLayout& layout : block_layouts()) add(in_capitals(layout.name));
    return result;
  }();
  return numbers;
}

class Expansion {
 public:
  explicit Expansion(const Defines& defines) {
    for (const auto& [name, value] : defines) {
      macros_[name] = value;
      const std::string& text = texts_.emplace_back(fmt::format("#define {} {}", name, value));
      lines_.push_back(&define_lines_.emplace_back(taken_apart(text)));
    }
  }

  /// Appends a file from a line on.
  void append(std::string_view file, ForOperand operand, std::size_t from = 0) {
    const std::vector<TemplateLine>& lines = template_lines(file, operand);
    std::vector<Condition> conditions;
    for (std::size_t i = from; i < lines.size(); ++i) {
      try {
        append_line(lines[i], conditions);
      } catch (const Error& e) {
        if (std::string_view(e.what()).starts_with("templates/")) throw;
        fail(ErrorCode::kInternal, "templates/{}:{}: {}", file, i + 1, e.what());
      }
    }
    if (!conditions.empty()) fail(ErrorCode::kInternal, "templates/{}: an #endif is missing", file);
  }

  void write_to(std::string& text) const {
    bool after_blank = false;
    for (const TemplateLine* line : used_lines(lines_)) {
      if (!line->text.empty() || !after_blank) text.append(line->text).push_back('\n');
      after_blank = line->text.empty();
    }
  }

 private:
  /// An #if and the lines up to its #endif.
  struct Condition {
    bool holds;    // for the lines that follow
    bool decided;  // it held for lines before, or does now
    bool around;   // the lines around it count
  };

  std::optional<std::string_view> value_of(std::string_view name) const {
    if (const auto found = macros_.find(name); found != macros_.end()) return found->second;
    if (const auto found = words().find(std::string(name)); found != words().end())
      return found->second;
    return std::nullopt;
  }

  bool holds(std::string_view condition) const {
    const std::int64_t value =
        value_of_condition(condition, [&](std::string_view name) { return value_of(name); });
    if (value >= kFirstWord)
      fail(ErrorCode::kInternal, "the condition '{}' is a word; compare it with one", condition);
    return value != 0;
  }

  void append_line(const TemplateLine& line, std::vector<Condition>& conditions) {
    const bool counts = conditions.empty() || conditions.back().holds;
    if (conditions.empty() &&
        (line.kind == Kind::kElif || line.kind == Kind::kElse || line.kind == Kind::kEndif))
      fail(ErrorCode::kInternal, "there is no #if for '{}'", line.text);
    if (line.kind == Kind::kIf) {
      const bool met = counts && holds(line.condition);
      conditions.push_back({met, met, counts});
    } else if (line.kind == Kind::kElif || line.kind == Kind::kElse) {
      Condition& last = conditions.back();
      last.holds =
          last.around && !last.decided && (line.kind == Kind::kElse || holds(line.condition));
      last.decided = last.decided || last.holds;
    } else if (line.kind == Kind::kEndif) {
      conditions.pop_back();
    } else if (counts && line.kind == Kind::kInclude) {
      append_include(line);
    } else if (counts && line.text.starts_with("#error ")) {
      fail(ErrorCode::kInternal, "{}", line.text.substr(sizeof "#error"));
    } else if (line.text.starts_with("#ifdef") || line.text.starts_with("#ifndef")) {
      fail(ErrorCode::kInternal, "write '{}' with defined()", line.text);
    } else if (counts) {
      if (line.kind == Kind::kUndefine)
        macros_.erase(line.name);
      else if (!line.name.empty())
        macros_[line.name] = line.value;
      lines_.push_back(&line);
    }
  }

  void append_include(const TemplateLine& line) {
    const bool for_a = line.value == " for A", for_b = line.value == " for B";
    if (!line.value.empty() && !for_a && !for_b)
      fail(ErrorCode::kInternal, "'{}' behind an include is not understood", line.value);
    static const TemplateLine kBlankLine = {.kind = Kind::kBlank};
    lines_.push_back(&kBlankLine);
    append(line.name, for_a ? ForOperand::kA : for_b ? ForOperand::kB : ForOperand::kNone);
  }

  std::unordered_map<std::string_view, std::string_view> macros_;
  std::vector<const TemplateLine*> lines_;
  std::deque<std::string> texts_;  // of the defines
  std::deque<TemplateLine> define_lines_;
};

}  // namespace

std::string in_capitals(std::string_view text) {
  std::string capitals(text);
  for (char& c : capitals)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return capitals;
}

std::string expand(std::string_view file, const std::vector<std::string>& comment,
                   const Defines& defines) {
  std::string text = "#version 450\n";
  text.reserve(std::size_t{1} << 15);
  const std::vector<TemplateLine>& lines = template_lines(file, ForOperand::kNone);
  const auto code =
      std::ranges::find_if(lines, [](const auto& line) { return line.kind != Kind::kComment; });
  for (auto line = lines.begin(); line != code; ++line) text.append(line->text).push_back('\n');
  if (code != lines.begin() && !comment.empty()) text += "//\n";
  for (const std::string& line : comment) text += fmt::format("// {}\n", line);
  Expansion expansion(defines);
  expansion.append(file, ForOperand::kNone, static_cast<std::size_t>(code - lines.begin()));
  expansion.write_to(text);
  return text;
}

std::string without_comments(std::string_view glsl) {
  std::string code;
  for_each_line(glsl, [&](std::string_view line) {
    line = without_comment(line);
    if (!line.empty()) code.append(line).push_back('\n');
  });
  return code;
}

}  // namespace rooftile
