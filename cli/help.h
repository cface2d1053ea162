// The text of --help.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace rooftile {

/// Lines of at most 80 columns. What CLI11 knows of an option besides its description (the values
/// that it takes, whether it must be given, which others it needs or rules out) follows that in
/// words.
class HelpText : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

}  // namespace rooftile
