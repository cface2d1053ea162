#include <fmt/format.h>

#include "core/text_table.h"
#include "inspect/inspection.h"
#include "inspect/inspection_words.h"

namespace rooftile {
namespace {

constexpr std::string_view kNoValue = "-";

std::string text_of(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : std::string(kNoValue);
}

TextTable table_of(const Inspection& inspection) {
  TextTable table({{"kernel", Align::kLeft},
                   {"class", Align::kLeft},
                   {"registers"},
                   {"spilled"},
                   {"scratch B"},
                   {"shared B"},
                   {"occupancy"},
                   {"matrix"},
                   {"multiply-add"},
                   {"others"},
                   {"o/m"},
                   {"", Align::kLeft}});
  for (const KernelInspection& kernel : inspection.kernels) {
    std::vector<std::string> cells = {kernel.short_name, kernel.signature};
    if (kernel.compilation != Compilation::kCompiled) {
      cells.resize(11, std::string(kNoValue));
      cells.push_back(compilation_sentence(kernel));
    } else {
      const CompilerFacts& facts = kernel.facts;
      for (const auto& fact : {facts.registers, spilled(facts), facts.scratch_bytes,
                               facts.shared_bytes, facts.subgroups_per_unit})
        cells.push_back(text_of(fact));
      if (kernel.main_loop) {
        const InstructionCounts& counts = kernel.main_loop->counts;
        for (const int count : {counts.count(InstructionClass::kMatrix),
                                counts.count(InstructionClass::kMultiplyAdd), counts.others()})
          cells.push_back(std::to_string(count));
        cells.push_back(ratio_text(counts));
        cells.push_back(loop_notes(*kernel.main_loop));
      } else {
        cells.resize(11, std::string(kNoValue));
        cells.push_back(loop_sentence(kernel));
      }
    }
    table.add(std::move(cells));
  }
  return table;
}

std::string details_of(const KernelInspection& kernel) {
  std::string text = fmt::format("\n{}\n  class {}{}{}\n", kernel.kernel, kernel.signature,
                                 kernel.origin.empty() ? "" : "; ", kernel.origin);
  if (kernel.compilation != Compilation::kCompiled)
    return text + fmt::format("  {}\n", compilation_sentence(kernel));
  const CompilerFacts& facts = kernel.facts;
  text += fmt::format("  subgroups of {}\n", kernel.subgroup_size == 0
                                                 ? std::string("unknown size")
                                                 : std::to_string(kernel.subgroup_size));
  if (facts.statistics.empty()) text += "  the driver reports no statistics\n";
  for (const CompilerStatistic& statistic : facts.statistics)
    text += fmt::format("  {}: {}\n", statistic.name, value_text(statistic));
  if (!kernel.main_loop) return text + fmt::format("  {}\n", loop_sentence(kernel));
  text += fmt::format(
      "  main loop: lines {} to {} of the assembly, {:.0f} multiply-adds of a "
      "subgroup in each trip\n",
      kernel.main_loop->first_line, kernel.main_loop->last_line,
      kernel.main_loop->counts.multiply_adds);
  if (const std::string notes = loop_notes(*kernel.main_loop); !notes.empty())
    text += fmt::format("    {}\n", notes);
  for (const auto& [what, count] : instruction_lines(kernel.main_loop->counts))
    text += fmt::format("    {:>6}  {}\n", count, what);
  std::map<std::string, int> opcodes;  // without what stands behind a point: types, widths
  for (const auto& [opcode, count] : kernel.main_loop->counts.opcodes)
    opcodes[opcode.substr(0, opcode.find('.'))] += count;
  text += "    opcodes:";
  for (const auto& [opcode, count] : opcodes)
    text += fmt::format("{} {} {}", text.ends_with(':') ? "" : ",", count, opcode);
  return text + "\n";
}

}  // namespace

std::string inspection_text(const Inspection& inspection, Details details) {
  std::string text =
      fmt::format("{}{}{}\n{}\n", inspection.label, inspection.label.empty() ? "" : ": ",
                  inspection.device, inspection.driver);
  text += table_of(inspection).text();
  if (details == Details::kForAll || inspection.kernels.size() == 1)
    for (const KernelInspection& kernel : inspection.kernels) text += details_of(kernel);
  return text;
}

}  // namespace rooftile
