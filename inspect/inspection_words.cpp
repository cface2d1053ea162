#include "inspect/inspection_words.h"

#include <fmt/format.h>

#include "core/count_text.h"

namespace rooftile {
namespace {

using enum InstructionClass;

std::string_view memory_name(MemorySpace space) {
  switch (space) {
    case MemorySpace::kShared:
      return "shared";
    case MemorySpace::kGlobal:
      return "global";
    case MemorySpace::kScratch:
      return "scratch";
    case MemorySpace::kConstant:
      return "constant";
  }
  return "";
}

std::string access_text(const MemoryAccess& access) {
  const std::string_view kind = access.kind == kLoad    ? "load"
                                : access.kind == kStore ? "store"
                                                        : "atomic operation";
  std::string text = fmt::format("{} {}s", memory_name(access.space), kind);
  if (access.bits > 0)
    text += fmt::format(" of {} bits{}", access.bits, access.per_subgroup ? " a subgroup" : "");
  return text;
}

}  // namespace

std::string compilation_sentence(const KernelInspection& kernel) {
  switch (kernel.compilation) {
    case Compilation::kCompiled:
      return "";
    case Compilation::kIllegal:
      return "illegal here: " + kernel.message;
    case Compilation::kRefused:
      return "the driver refused the kernel: " + kernel.message;
    case Compilation::kCrashed:
      return "the driver's compiler crashed: " + kernel.message;
    case Compilation::kTimedOut:
      return "the driver's compiler did not end in time: " + kernel.message;
    case Compilation::kOutOfMemory:
      return "the driver's compiler needed too much memory: " + kernel.message;
  }
  return "";
}

std::string loop_sentence(const KernelInspection& kernel) {
  switch (kernel.loop_state) {
    case LoopState::kFound:
      return "";
    case LoopState::kNoAssembly:
      return kernel.facts.statistics.empty()
                 ? "this driver gives neither statistics nor assembly of kernels"
                 : "this driver gives no assembly of kernels";
    case LoopState::kNotUnderstood:
      return "this driver's assembly is not understood: " + kernel.loop_message;
    case LoopState::kNoWork:
      return "no loop of the assembly has multiply-adds";
  }
  return "";
}

std::optional<std::int64_t> spilled(const CompilerFacts& facts) {
  return facts.spilled_registers ? facts.spilled_registers : facts.spill_stores;
}

std::string value_text(const CompilerStatistic& statistic) {
  return std::visit([](auto value) { return fmt::format("{}", value); }, statistic.value);
}

std::string ratio_text(const InstructionCounts& counts) {
  const auto ratio = counts.others_per_product();
  return ratio ? fmt::format("{:.3g}", *ratio) : "-";
}

std::string loop_notes(const MainLoop& loop) {
  std::string notes;
  if (loop.outer_others)
    notes = fmt::format("and {} in the loop around it", count_text(*loop.outer_others, "other"));
  if (const int unknown = loop.counts.count(kUnknown); unknown > 0)
    notes += (notes.empty() ? "" : "; ") + count_text(unknown, "unknown instruction");
  return notes;
}

std::vector<std::pair<std::string, int>> instruction_lines(const InstructionCounts& counts) {
  std::vector<std::pair<std::string, int>> lines;
  const auto add = [&](std::string what, int count) {
    if (count > 0) lines.emplace_back(std::move(what), count);
  };
  for (const auto& [opcode, count] : counts.matrix) add("matrix operations " + opcode, count);
  add("multiply-adds", counts.count(kMultiplyAdd));
  for (const auto& [access, count] : counts.accesses) add(access_text(access), count);
  add("other operations of invocations", counts.count(kVector));
  add("other operations of the subgroup", counts.count(kScalar));
  add("branches", counts.count(kBranch));
  add("waits", counts.count(kWait));
  add("barriers", counts.count(kBarrier));
  for (const auto& [opcode, count] : counts.unknown)
    add(fmt::format("unknown instructions '{}'", opcode), count);
  add("delays, which are not counted as others", counts.count(kDelay));
  add("of all these are the second of two that are issued at once", counts.shared_issues);
  return lines;
}

}  // namespace rooftile
