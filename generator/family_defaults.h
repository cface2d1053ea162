// The kernel that a family starts from where nobody has chosen its parameters.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "core/variant.h"

namespace rooftile {

/// What a careful person would try of this family on such a device, best first. Some may be illegal
/// there, or for some types: the later ones need less. Of matrix one for each of the device's
/// shapes; empty where it has no matrix units.
std::vector<Variant> family_defaults(Family family, const DeviceLimits& limits);

/// First reason why a variant cannot be used, or nothing: illegal_reason() with the rest bound.
using Legality = std::function<std::optional<std::string>(const Variant&)>;

struct CompletedVariant {
  Variant variant;
  std::optional<std::string> reason;  // why no kernel with these settings is legal
};
/// A legal kernel of the family with these settings: the first of family_defaults(), then of the
/// space (legal_variants()), that is legal with them. Where there is none, the last of the
/// defaults, which needs least, and why it is illegal. A setting of the family itself must be this
/// one. Throws kInvalidArgument for unknown parameters and values.
CompletedVariant complete(Family family, const ParameterSettings& settings,
                          const DeviceLimits& limits, const std::vector<Variant>& space,
                          const Legality& illegal);

}  // namespace rooftile
