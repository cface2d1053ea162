#include "cli/budget.h"

#include <charconv>

#include "core/error.h"

namespace rooftile {

CLI::Option* add_budget(CLI::App& command, std::string& budget, const std::string& help) {
  return command.add_option("--budget", budget, help)
      ->type_name("TIME")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return text.empty() ? std::string("the time is empty; it is one like 60s, 3m or 1h")
                                : std::string();
          },
          ""));
}

double parse_budget_s(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  const double scale = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (error != std::errc() || scale == 0 || !(value > 0) || value * scale > 1e7)
    fail(
        ErrorCode::kInvalidArgument,
        "--budget is '{}'; it takes a time such as 60s, 3m or 1h, above 0 and at most 10,000,000 s",
        text);
  return value * scale;
}

}  // namespace rooftile
