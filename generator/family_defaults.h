// The kernel of a family that is used where its parameters were not chosen.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "core/variant.h"

namespace rooftile {

/// The variants of this family that an expert would try on such a device, best first. Some may be
/// illegal on it or for some types; later ones need less of the device. matrix has one for each of
/// the device's shapes, and none where it has no matrix units.
std::vector<Variant> family_defaults(Family family, const DeviceLimits& limits);

/// Returns the first reason why a variant cannot be used, or nothing: illegal_reason() with its
/// other arguments bound.
using Legality = std::function<std::optional<std::string>(const Variant&)>;

struct CompletedVariant {
  Variant variant;
  std::optional<std::string> reason;  // why no kernel with these settings is legal
};
/// A legal kernel of the family with these settings: the first of family_defaults(), and then of
/// the space (legal_variants()), that is legal with them. Where there is none, the last of the
/// defaults, which needs least, with the reason why it is illegal. A setting of the family itself
/// must be this family. Throws kInvalidArgument for unknown parameters and values.
CompletedVariant complete(Family family, const ParameterSettings& settings,
                          const DeviceLimits& limits, const std::vector<Variant>& space,
                          const Legality& illegal);

}  // namespace rooftile
