// Device limits for the tests of the generator, and short forms.
#pragma once

#include <string>
#include <vector>

#include "core/device_profile.h"
#include "core/problem.h"
#include "core/variant.h"
#include "generator/rules.h"
#include "generator/signature.h"

namespace rooftile {

DeviceLimits minimum_limits();   // the minima of Vulkan 1.1, no optional feature
DeviceLimits lavapipe_limits();  // Mesa 22.3, 8 lanes
DeviceLimits discrete_limits();  // fixed 32 lanes, 48 KiB of shared memory
// discrete_limits() with matrix units of every supported type: 16 x 16 x 16, 16 x 8 x 16, and for
// 8-bit integers 16 x 16 x 32.
DeviceLimits matrix_limits();
// matrix_limits() with units of workgroup scope: 128 invocations in units of 32 x 16, 256 of 32 x
// 32.
DeviceLimits workgroup_matrix_limits();
DeviceLimits variable_limits();  // 32 or 64 lanes, selectable; 64 KiB

DeviceProfile profile_of(DeviceKind kind, const DeviceLimits& limits);

std::vector<Signature> all_signatures();

/// One variant of each family that every rule accepts on lavapipe, written as text.
Variant naive_point();
Variant register_point();
Variant matrix_point();            // staged, f16
Variant workgroup_matrix_point();  // f16, 128 x 128 x 64
Variant tiled_point();
Variant broadcast_point();
Variant vector_point();

/// v with one or several changed parameters: "tile_m=8 reg_m=4".
Variant changed(const Variant& from, const std::string& changes);
Variant with(Variant v, const std::string& parameter, const std::string& value);

std::string reason(const Variant& v, const DeviceLimits& limits);  // "" when legal
std::string reason(const Variant& v, const DeviceLimits& limits, const Problem& p,
                   const Placement& placement);

}  // namespace rooftile
