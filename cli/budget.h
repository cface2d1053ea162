// The option --budget of commands that measure for as long as they are told to.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace rooftile {

/// Adds --budget, whose text goes to `budget`; without the option it stays as it is.
CLI::Option* add_budget(CLI::App& command, std::string& budget, const std::string& help);

/// "60s", "3m", "1h" in seconds. Throws kInvalidArgument, naming --budget.
double parse_budget_s(const std::string& text);

}  // namespace rooftile
