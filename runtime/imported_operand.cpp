#include "runtime/imported_operand.h"

#include <unistd.h>

#include <algorithm>

#include "core/error.h"

namespace rooftile {
namespace {

constexpr std::uint64_t kLoadBytes = 16;  // the widest of a kernel

std::uint64_t up(std::uint64_t x, std::uint64_t step) { return (x + step - 1) / step * step; }

}  // namespace

std::optional<ImportedOperand> ImportedOperand::of(Device& device, const void* at,
                                                   std::uint64_t bytes) {
  const DeviceLimits& limits = device.profile().limits;
  const std::uint64_t alignment = limits.host_import_alignment_bytes;
  if (alignment == 0 || bytes == 0) return std::nullopt;
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const std::uint64_t begin = address / alignment * alignment, end = up(address + bytes, alignment);
  // Memory is mapped by pages: the operand's own are there as a whole, and no other need be.
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const bool whole_pages = page % alignment == 0;
  if (!whole_pages && (begin != address || end != address + bytes)) return std::nullopt;
  if (end - begin > limits.max_memory_allocation_bytes) return std::nullopt;
  ImportedOperand imported;
  try {
    imported.pages_ = device.import_host(reinterpret_cast<void*>(begin), end - begin);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kUnsupported || error.code() == ErrorCode::kOutOfMemory)
      return std::nullopt;
    throw;
  }
  imported.first_page_ = begin;
  imported.offset_bytes_ = address - begin;
  imported.reachable_ = device.view(
      imported.pages_, 0, std::min(up(imported.offset_bytes_ + bytes, kLoadBytes), end - begin));
  return imported;
}

bool ImportedOperand::shares_pages(const ImportedOperand& other) const {
  return first_page_ < other.first_page_ + other.pages_.size_bytes() &&
         other.first_page_ < first_page_ + pages_.size_bytes();
}

}  // namespace rooftile
