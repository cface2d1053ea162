#include "inspect/program_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/byte_order_mark.h"
#include "core/error.h"
#include "inspect/assembly_words.h"

namespace rooftile {

std::optional<std::string_view> ProgramBuilder::next_line() {
  if (rest_.empty()) return std::nullopt;
  ++line_;
  const std::size_t end = rest_.find('\n');
  std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  if (!is_text(line)) refuse(quoted(line) + " is no text");
  return line;
}

void ProgramBuilder::refuse(const std::string& what) const {
  fail(ErrorCode::kUnsupported, "line {}: {}", line_, what);
}

void ProgramBuilder::open_block() {
  constexpr std::size_t kMostBlocks = 1 << 14;  // Their loops take time by the square.
  if (program_.blocks.size() == kMostBlocks)
    refuse(fmt::format("there are more than {} jumps and labels", kMostBlocks));
  program_.blocks.push_back({.first = program_.instructions.size(), .count = 0, .successors = {}});
  edges_.push_back({.labels = {}, .continues = true, .line = line_});
  open_ = true;
}

void ProgramBuilder::add(Instruction instruction) {
  if (!open_) open_block();
  instruction.line = line_;
  program_.instructions.push_back(std::move(instruction));
  ++program_.blocks.back().count;
}

void ProgramBuilder::repeat(int times) {
  if (!open_ || program_.blocks.back().count == 0) refuse("it repeats no instruction");
  const Instruction last = program_.instructions.back();
  for (int i = 0; i < times; ++i) add(last);
}

void ProgramBuilder::label(std::string_view name) {
  open_block();
  if (!labels_.emplace(name, program_.blocks.size() - 1).second)
    refuse(fmt::format("the label {} is there twice", name));
}

void ProgramBuilder::leave(std::vector<std::string> labels, Next next) {
  if (!open_) open_block();
  edges_.back() = {
      .labels = std::move(labels), .continues = next == Next::kContinues, .line = line_};
  open_ = false;
}

Program ProgramBuilder::finish() {
  if (program_.instructions.empty()) refuse("there is no instruction");
  for (std::size_t i = 0; i < program_.blocks.size(); ++i) {
    line_ = edges_[i].line;
    std::vector<std::size_t>& successors = program_.blocks[i].successors;
    if (edges_[i].continues) {
      if (i + 1 == program_.blocks.size()) {
        line_ = std::max(line_, program_.instructions.back().line);
        refuse("the text ends before the program does");
      }
      successors.push_back(i + 1);
    }
    for (const std::string& name : edges_[i].labels) {
      const auto target = labels_.find(name);
      if (target == labels_.end()) refuse(fmt::format("it jumps to {}, which is missing", name));
      successors.push_back(target->second);
    }
  }
  return std::move(program_);
}

}  // namespace rooftile
