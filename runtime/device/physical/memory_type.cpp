#include "runtime/device/physical/memory_type.h"

namespace rooftile {
namespace {

// More important properties have higher weights; a negative score means that the type cannot serve
// the use.
constexpr int kUnusable = -1;

int score(const MemoryType& type, BufferUse use, bool unified_memory) {
  if (type.special) return kUnusable;
  switch (use) {
    case BufferUse::kDevice:
      // Every device should have device-local memory, but nothing here depends on that.
      if (unified_memory)
        return 8 * type.device_local + 4 * (type.host_visible && type.host_coherent) +
               2 * type.host_cached;
      return 8 * type.device_local + 4 * !type.host_visible;
    case BufferUse::kUpload:
      if (!type.host_visible || !type.host_coherent) return kUnusable;
      return unified_memory ? type.device_local : 4 * !type.device_local + 2 * !type.host_cached;
    case BufferUse::kDownload:
      if (!type.host_visible) return kUnusable;
      return 8 * type.host_cached + 4 * type.host_coherent + (type.device_local == unified_memory);
  }
  return kUnusable;
}

}  // namespace

std::optional<std::uint32_t> choose_memory_type(std::span<const MemoryType> types,
                                                std::uint32_t allowed_bits, BufferUse use,
                                                bool unified_memory) {
  std::optional<std::uint32_t> best;
  int best_score = kUnusable;
  for (std::uint32_t i = 0; i < types.size(); ++i) {
    if ((allowed_bits >> i & 1u) == 0) continue;
    const int this_score = score(types[i], use, unified_memory);
    // The driver lists faster types first, so the first among equals wins unless another has a
    // larger heap.
    const bool larger =
        best && this_score == best_score && types[i].heap_bytes > types[*best].heap_bytes;
    if (this_score > best_score || (larger && this_score != kUnusable)) {
      best = i;
      best_score = this_score;
    }
  }
  return best;
}

}  // namespace rooftile
