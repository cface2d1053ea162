// Values of options that are no fixed list in their definition.
#include <algorithm>
#include <array>

#include "cli/completion.h"
#include "cli/option_text.h"
#include "core/error.h"
#include "core/variant.h"
#include "gguf/mapped_file.h"

namespace rooftile {
namespace {

/// Types that kernels are made for, as in docs/types.md; those with the usual sizes of blocks.
std::vector<std::string> type_texts() {
  std::vector<std::string> texts = {"f32",     "f32_half",        "f32xq4_k_int8", "f16",
                                    "f16_f16", "f16_f16_sum_f16", "bf16",          "bf16_bf16",
                                    "i8_i32",  "u8_i32"};
  std::vector<std::string> weights = {"q4b32", "q4b128", "q8b32", "q8b128"};
  for (const BlockLayout& layout : block_layouts()) weights.emplace_back(layout.name);
  for (const std::string& format : weights)
    for (const char* types : {"f32x{}", "f16x{}", "f16x{}_f16", "bf16x{}"})
      texts.push_back(fmt::format(fmt::runtime(types), format));
  return texts;
}

/// Completes the last of several steps: "bias_column+re" becomes "bias_column+relu".
std::vector<std::string> epilogue_texts(const std::string& beginning) {
  constexpr std::array kSteps = {"row_scale", "column_scale", "bias_row", "bias_column", "relu",
                                 "gelu_erf",  "gelu_tanh",    "silu",     "residual",    "clamp"};
  const std::size_t plus = beginning.rfind('+');
  const std::string before = plus == std::string::npos ? "" : beginning.substr(0, plus + 1);
  std::vector<std::string> texts;
  for (const char* step : kSteps) {
    try {
      parse_epilogue(before + step);  // Refuses steps that do not go together.
      texts.push_back(before + step);
    } catch (const Error&) {
    }
  }
  return texts;
}

/// "naive, register" of a parameter's description; nothing where it takes a number.
std::vector<std::string> parameter_texts(const std::string& parameter) {
  const std::vector<std::string> known = parameter_names();
  if (std::ranges::find(known, parameter) == known.end()) return {};
  const std::string values = parameter_values(parameter);
  if (values.find(' ') != std::string::npos && values.find(", ") == std::string::npos) return {};
  std::vector<std::string> texts;
  for (const std::string& value : CLI::detail::split(values, ','))
    texts.push_back(CLI::detail::trim_copy(value));
  return texts;
}

bool is_gguf(const std::string& word) { return word.ends_with(".gguf"); }

/// Names of a GGUF file's tensors; none where it cannot be read.
std::vector<Suggestion> tensors_of(const std::string& file, const std::string& before) {
  std::vector<Suggestion> tensors;
  try {
    const GgufFile opened(file);
    for (const GgufTensor& tensor : opened.tensors())
      tensors.push_back({before + tensor.name, format_text(tensor)});
  } catch (const Error&) {
  }
  return tensors;
}

std::vector<Suggestion> known_devices(const Globals& globals) {
  std::vector<Suggestion> devices;
  try {
    const Store store(globals.database(), OpenMode::kReadOnly);
    for (const DeviceRecord& device : store.devices())
      devices.push_back({device.profile.name, device.profile.driver_info});
  } catch (const Error&) {
  }
  return devices;
}

std::vector<Suggestion> all_values(const CLI::Option& option, const Globals& globals,
                                   const std::vector<std::string>& words,
                                   const std::string& beginning) {
  const auto [placeholder, choices] = value_of(option);
  std::vector<std::string> texts = choices;
  const std::string name = option.get_name();
  if (placeholder == "TYPES") texts = type_texts();
  if (placeholder == "STEPS") texts = epilogue_texts(beginning);
  if (placeholder == "VALUE" && name.starts_with("--")) texts = parameter_texts(name.substr(2));
  if (placeholder == "TIME") texts = {"60s", "3m", "30m"};
  if (name == "--device") return known_devices(globals);
  if (name == "--tensor") {
    const auto file = std::ranges::find_if(words, is_gguf);
    if (file != words.end()) return tensors_of(*file, "");
  }
  // "model.gguf:TENSOR" is an operand of `rooftile gemm`.
  if (const std::size_t colon = beginning.rfind(".gguf:"); colon != std::string::npos) {
    const std::string file = beginning.substr(0, colon + 5);
    return tensors_of(file, file + ":");
  }
  std::vector<Suggestion> values;
  for (const std::string& text : texts) values.push_back({text, ""});
  return values;
}

}  // namespace

std::vector<Suggestion> value_suggestions(const CLI::Option& option, const Globals& globals,
                                          const std::vector<std::string>& words,
                                          const std::string& beginning) {
  std::vector<Suggestion> values = all_values(option, globals, words, beginning);
  std::erase_if(values, [&](const Suggestion& value) {
    // A line of the answer is one word, and a terminal shows it.
    return !value.word.starts_with(beginning) ||
           std::ranges::any_of(value.word, [](unsigned char c) { return c < ' '; });
  });
  return values;
}

}  // namespace rooftile
