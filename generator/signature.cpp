#include "generator/signature.h"

#include <fmt/format.h>

#include "core/error.h"

namespace rooftile {
namespace {
constexpr std::string_view kGroupedSuffix = ".grouped";
}  // namespace

std::string to_string(const Signature& s) {
  return fmt::format("{}.{}{}{}{}{}", to_string(s.types), letter(s.trans_a), letter(s.trans_b),
                     any(s.epilogue) ? "." : "", to_string(s.epilogue),
                     s.grouped ? kGroupedSuffix : "");
}

Signature parse_signature(const std::string& text) {
  const auto refuse = [&]() {
    fail(ErrorCode::kInvalidArgument, "'{}' is no class of problems such as 'f16.nt.relu'", text);
  };
  const std::size_t dot = text.find('.');
  if (dot == std::string::npos) refuse();
  const std::string letters = text.substr(dot + 1, 2);
  std::string rest = text.substr(dot + 1 + letters.size());
  const bool grouped = rest.ends_with(kGroupedSuffix);
  if (grouped) rest.resize(rest.size() - kGroupedSuffix.size());
  if (letters.size() != 2 || letters.find_first_not_of("nt") != std::string::npos ||
      (!rest.empty() && !rest.starts_with('.')))
    refuse();
  const auto transpose = [](char c) { return c == 't' ? Transpose::kYes : Transpose::kNo; };
  return {.types = parse_types(text.substr(0, dot)),
          .trans_a = transpose(letters[0]),
          .trans_b = transpose(letters[1]),
          .epilogue = rest.empty() ? Epilogue{} : compiled_part(parse_epilogue(rest.substr(1))),
          .grouped = grouped};
}

}  // namespace rooftile
