#include "runtime/device/physical/device_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace rooftile {
namespace {

bool better_driver(const OfferedDevice& x, const OfferedDevice& y) {
  return std::tie(x.conformance, x.profile.api_version) >
         std::tie(y.conformance, y.profile.api_version);
}

/// Returns whether x is the better device of one kind. A software device's subgroup size is the
/// width of the processor's vectors that it uses, while its memory is the machine's, whatever it
/// reports.
bool comes_before(const DeviceProfile& x, const DeviceProfile& y) {
  if (x.kind == DeviceKind::kSoftware && x.limits.subgroup_size != y.limits.subgroup_size)
    return x.limits.subgroup_size > y.limits.subgroup_size;
  return x.device_memory_bytes > y.device_memory_bytes;
}

}  // namespace

int rank(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kDiscrete:
      return 0;
    case DeviceKind::kIntegrated:
      return 1;
    case DeviceKind::kVirtual:
      return 2;
    case DeviceKind::kOther:
      return 3;
    case DeviceKind::kSoftware:
      return 4;
  }
  return 4;
}

OrderedDevices order_devices(std::vector<OfferedDevice> offers) {
  OrderedDevices result;
  std::vector<OfferedDevice> kept;
  const auto drop = [&](const DeviceProfile& left_out, const DeviceProfile& used) {
    result.note += fmt::format("{}{} is offered by two drivers: {} is used, {} left out",
                               result.note.empty() ? "" : "; ", used.name, used.driver_name,
                               left_out.driver_name);
  };
  for (OfferedDevice& offer : offers) {
    const auto same = std::find_if(kept.begin(), kept.end(), [&](const OfferedDevice& other) {
      return other.profile.device_uuid == offer.profile.device_uuid;
    });
    if (same == kept.end()) {
      kept.push_back(std::move(offer));
    } else if (better_driver(offer, *same)) {
      drop(same->profile, offer.profile);
      *same = std::move(offer);
    } else {
      drop(offer.profile, same->profile);
    }
  }
  std::stable_sort(kept.begin(), kept.end(), [](const OfferedDevice& x, const OfferedDevice& y) {
    const int x_rank = rank(x.profile.kind), y_rank = rank(y.profile.kind);
    return x_rank != y_rank ? x_rank < y_rank : comes_before(x.profile, y.profile);
  });
  for (OfferedDevice& offer : kept) result.devices.push_back(std::move(offer.profile));
  return result;
}

}  // namespace rooftile
