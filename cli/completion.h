// What may follow on a command line, for shells that complete words.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/command.h"

namespace rooftile {

struct Suggestion {
  std::string word, description;
};

/// What else may stand in the place of the word.
enum class AlsoPossible : std::uint8_t { kNothing, kFiles, kFolders, kProgram };

struct Completion {
  std::vector<Suggestion> suggestions;  // with the word's beginning
  AlsoPossible also = AlsoPossible::kNothing;
  std::size_t program = 0;  // kProgram: the position in `words` of the program that is run
};

/// Completes the last of these words, which may be empty. words: without the program's name. Reads
/// the definitions of the commands, a GGUF file that the words name, and the database's devices.
/// Never throws for what words say.
Completion complete(const CLI::App& app, const Globals& globals,
                    const std::vector<std::string>& words);

/// The values of an option that begin so. words: before it, for values that depend on a file that
/// they name.
std::vector<Suggestion> value_suggestions(const CLI::Option& option, const Globals& globals,
                                          const std::vector<std::string>& words,
                                          const std::string& beginning);

/// Prints a suggestion a line as "word<tab>description", and at last ":none", ":files", ":folders"
/// or ":program N" (AlsoPossible). The scripts in cli/completion/ read that.
void print(const Completion& completion);

}  // namespace rooftile
