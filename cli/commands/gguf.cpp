// Tensors of a GGUF file: a list of them, or one of them as a NumPy file.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/gguf_operand.h"
#include "cli/json_output.h"
#include "cli/npy.h"
#include "cli/output_file.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "core/count_text.h"
#include "core/text_table.h"

namespace rooftile {
namespace {

constexpr std::size_t kPieceBlocks = 4096;  // Dequantised at a time.

struct GgufArguments {
  std::string file, tensor, output;
  bool json = false;
};

int list_tensors(const GgufFile& file, bool json) {
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const GgufTensor& tensor : file.tensors())
      list.push_back({{"name", tensor.name},
                      {"format", format_text(tensor)},
                      {"shape", tensor.sizes},
                      {"bytes", tensor.bytes},
                      {"offset", tensor.offset_bytes},
                      {"readable", gguf_block(tensor.format).has_value()}});
    print_json({{"file", file.name()}, {"tensors", std::move(list)}});
    return kDone;
  }
  TextTable table({{"tensor", Align::kLeft}, {"shape"}, {"format", Align::kLeft}, {"MiB"}});
  for (const GgufTensor& tensor : file.tensors())
    table.add({tensor.name, shape_text(tensor.sizes), format_text(tensor),
               gguf_block(tensor.format)
                   ? fmt::format("{:.2f}", static_cast<double>(tensor.bytes) / (1 << 20))
                   : "not read"});
  print_table(table);
  fmt::print("{}\n", count_text(file.tensors().size(), "tensor"));
  return kDone;
}

int write_tensor(const GgufFile& file, const GgufArguments& arguments) {
  const GgufTensor& tensor = file.tensor(arguments.tensor);
  const GgufBlock block = readable_block(file, tensor);
  refuse_as_output(file, arguments.output);
  OutputFile output(arguments.output);
  output.write(npy_header_bytes(NpyType::kF32, tensor.sizes));
  const auto bytes = static_cast<std::size_t>(block.bytes);
  std::vector<float> values(kPieceBlocks * static_cast<std::size_t>(block.elements));
  for (std::span<const std::uint8_t> left = file.blocks(tensor); !left.empty();) {
    const std::size_t count = std::min(kPieceBlocks, left.size() / bytes);
    const std::span<float> piece =
        std::span(values).first(count * static_cast<std::size_t>(block.elements));
    dequantize(tensor.format, left.first(count * bytes), piece);
    output.write(std::span<const float>(piece));
    left = left.subspan(count * bytes);
  }
  output.commit();
  fmt::print("{}: float32 {} from {}\n", arguments.output, shape_text(tensor.sizes), block.name);
  return kDone;
}

}  // namespace

void add_gguf(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("gguf", "List the tensors of a GGUF file, or write one as a NumPy file");
  command->footer(
      "Rows come first in shapes, as in NumPy. A matrix of n x k is the weights W of\n"
      "A * W^T, which `rooftile gemm X.npy model.gguf:TENSOR -o Y.npy` computes.\n"
      "Examples:\n  rooftile gguf model.gguf\n"
      "  rooftile gguf model.gguf --tensor blk.0.ffn_up.weight -o W.npy");
  static GgufArguments arguments;
  add_file(*command, "file", arguments.file, "The GGUF file")->required();
  CLI::Option* const json = add_json(*command, arguments.json);
  CLI::Option* const tensor =
      command->add_option("--tensor", arguments.tensor, "The tensor to write, as float32")
          ->type_name("NAME")
          ->excludes(json);
  CLI::Option* const output =
      add_file(*command, "-o,--output", arguments.output, "The .npy file to write");
  tensor->needs(output);
  output->needs(tensor);
  command->callback([&action, tensor] {
    action = [lists = tensor->empty()] {
      const GgufFile file(arguments.file);
      return lists ? list_tensors(file, arguments.json) : write_tensor(file, arguments);
    };
  });
}

}  // namespace rooftile
