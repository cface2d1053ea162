#include "runtime/resident/resident_scales.h"

#include <algorithm>
#include <cstring>

#include "runtime/call/scale_checks.h"

namespace rooftile {
namespace {

// Scales of so many products in one buffer are remembered: each layer of a network has its own.
constexpr std::size_t kMostRemembered = 1024;

std::shared_ptr<DeviceMemory> memory_of(const Region& region, const MemoryUses& uses) {
  const auto found = std::ranges::find_if(
      uses, [&](const auto& memory) { return &memory->buffer == region.buffer; });
  return found == uses.end() ? nullptr : *found;
}

std::uint64_t contents_of(DeviceMemory* memory) {
  if (memory == nullptr) return 0;
  const std::lock_guard lock(memory->mutex);
  return memory->contents;
}

bool meet(const PendingUpload& upload, const Region& region, std::int64_t bytes) {
  return upload.to == region.buffer &&
         upload.offset_bytes < region.offset_bytes + static_cast<std::uint64_t>(bytes) &&
         region.offset_bytes < upload.offset_bytes + upload.bytes;
}

/// What the region holds when the product runs.
std::vector<char> read_region(const ReadMemory& read, const std::shared_ptr<DeviceMemory>& memory,
                              const Region& region, std::int64_t bytes,
                              std::span<const PendingUpload> pending) {
  std::vector<char> content(static_cast<std::size_t>(bytes));
  const std::uint64_t begin = region.offset_bytes, end = begin + content.size();
  const bool replaced = std::ranges::any_of(pending, [&](const PendingUpload& upload) {
    return upload.to == region.buffer && upload.offset_bytes <= begin &&
           end <= upload.offset_bytes + upload.bytes;
  });
  if (!replaced) read(memory, begin, content.data(), content.size());
  for (const PendingUpload& upload : pending) {
    if (!meet(upload, region, bytes)) continue;
    const std::uint64_t from = std::max(begin, upload.offset_bytes),
                        to = std::min(end, upload.offset_bytes + upload.bytes);
    std::memcpy(content.data() + (from - begin),
                static_cast<const char*>(upload.from) + (from - upload.offset_bytes), to - from);
  }
  return content;
}

}  // namespace

void check_resident_scales(const ReadMemory& read, const ResidentCall& call, const MemoryUses& uses,
                           std::span<const PendingUpload> pending) {
  const Problem& p = call.problem;
  if (!has_separate_scales(p.types) || call.packed != nullptr || p.alpha == 0.0f || p.m == 0 ||
      p.n == 0 || p.k == 0 || p.batch == 0)
    return;
  const QuantizedBytes bytes = quantized_bytes(p);
  const auto scales = memory_of(call.scales, uses), zero_points = memory_of(call.zero_points, uses);
  if (scales == nullptr || (bytes.zero_points > 0 && zero_points == nullptr)) return;
  const RightScales checked = {.types = p.types,
                               .n = matrices_b(p) * p.n,
                               .k = p.k,
                               .offset_bytes = call.scales.offset_bytes,
                               .contents = contents_of(scales.get()),
                               .zero_points_offset_bytes = call.zero_points.offset_bytes,
                               .zero_points_contents = contents_of(zero_points.get())};
  const bool changes = std::ranges::any_of(pending, [&](const PendingUpload& upload) {
    return meet(upload, call.scales, bytes.scales) ||
           (bytes.zero_points > 0 && meet(upload, call.zero_points, bytes.zero_points));
  });
  if (!changes) {
    const std::lock_guard lock(scales->mutex);
    if (std::ranges::find(scales->right_scales, checked) != scales->right_scales.end()) return;
  }
  const std::vector<char> scale_bytes =
      read_region(read, scales, call.scales, bytes.scales, pending);
  const std::vector<char> zero_point_bytes =
      bytes.zero_points > 0
          ? read_region(read, zero_points, call.zero_points, bytes.zero_points, pending)
          : std::vector<char>();
  check_scales(p, {nullptr, scale_bytes.data(), zero_point_bytes.data()});
  if (changes) return;
  const std::lock_guard lock(scales->mutex);
  std::erase_if(scales->right_scales,
                [&](const RightScales& known) { return known.contents != scales->contents; });
  if (scales->right_scales.size() == kMostRemembered)
    scales->right_scales.erase(scales->right_scales.begin());
  scales->right_scales.push_back(checked);
}

}  // namespace rooftile
