#include "runtime/execute/imported_operand.h"

#include <unistd.h>

#include <algorithm>

#include "core/error.h"
#include "core/round.h"
#include "generator/layout.h"

namespace rooftile {
std::optional<ImportedOperand::Pages> ImportedOperand::pages(const DeviceLimits& limits,
                                                             const void* at, std::uint64_t bytes) {
  const std::uint64_t alignment = limits.host_import_alignment_bytes;
  if (alignment == 0 || bytes == 0) return std::nullopt;
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const std::uint64_t begin = address / alignment * alignment,
                      end = round_up(address + bytes, alignment);
  // Memory is mapped by pages: only the pages that hold the operand are known to exist.
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const bool whole_pages = page % alignment == 0;
  if (!whole_pages && (begin != address || end != address + bytes)) return std::nullopt;
  if (end - begin > limits.max_memory_allocation_bytes) return std::nullopt;
  return Pages{
      begin, end,
      std::min(round_up(address - begin + bytes, load_bytes(DataType::kF64)), end - begin)};
}

std::optional<ImportedOperand> ImportedOperand::of(Device& device, const void* at,
                                                   std::uint64_t bytes) {
  const std::optional<Pages> pages = ImportedOperand::pages(device.profile().limits, at, bytes);
  if (!pages) return std::nullopt;
  ImportedOperand imported;
  try {
    imported.pages_ =
        device.import_host(reinterpret_cast<void*>(pages->begin), pages->end - pages->begin);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kUnsupported || error.code() == ErrorCode::kOutOfMemory)
      return std::nullopt;
    throw;
  }
  imported.first_page_ = pages->begin;
  imported.offset_bytes_ = reinterpret_cast<std::uintptr_t>(at) - pages->begin;
  imported.reachable_ = device.view(imported.pages_, 0, pages->reachable_bytes);
  return imported;
}

ImportedOperand::~ImportedOperand() {
  reachable_.free();
  pages_.free();
}

bool ImportedOperand::shares_pages(const ImportedOperand& other) const {
  return first_page_ < other.first_page_ + other.pages_.size_bytes() &&
         other.first_page_ < first_page_ + pages_.size_bytes();
}

}  // namespace rooftile
