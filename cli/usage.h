// What the program says when its command line is wrong, and the values that its options take.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rooftile {

/// A sentence that says which word of which command is wrong and where to read on. app has just
/// thrown the error while parsing.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error);

CLI::Validator whole_number(std::int64_t lowest, std::int64_t highest);
/// Anything but infinity and NaN.
CLI::Validator finite_number();
CLI::Validator positive_number();
/// `what` is a literal that the message names: "the value is empty".
CLI::Validator not_empty(std::string_view what = "value");
CLI::Validator one_of(const std::vector<std::string>& names);

/// An option or argument whose value is the name of a file, and not empty.
CLI::Option* add_file(CLI::App& command, const std::string& name, std::string& file,
                      const std::string& description);

}  // namespace rooftile
