#include "generator/space.h"

#include "generator/rules.h"

namespace rooftile {

const std::vector<FamilySpace>& space_tables() {
  static const std::vector<FamilySpace> tables = {};
  return tables;
}

std::vector<Variant> legal_variants(const DeviceLimits&) { return {fallback_variant()}; }

Variant fallback_variant() { return {.family = Family::kNaive, .tile_m = 8, .tile_n = 8}; }

Variant default_variant(const DeviceProfile&) { return fallback_variant(); }

}  // namespace rooftile
