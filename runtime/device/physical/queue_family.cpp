#include "runtime/device/physical/queue_family.h"

namespace rooftile {

std::optional<std::uint32_t> choose_queue_family(std::span<const QueueFamily> families) {
  std::optional<std::uint32_t> best;
  for (std::uint32_t i = 0; i < families.size(); ++i) {
    if (!families[i].compute || families[i].queue_count == 0) continue;
    if (!best || families[i].timestamp_valid_bits > families[*best].timestamp_valid_bits) best = i;
  }
  return best;
}

}  // namespace rooftile
