// The shaders of expert_operation.h, compared with what the host computes.
#pragma once

#include <memory>

#include "runtime/device/device.h"
#include "runtime/kernel/shader_cache.h"

namespace rooftile {

/// Compute small cases with edges, padded rows, offsets, ties, NaN, experts without tokens and
/// numbers that are out of range, on this device. Throw kInternal where a result is wrong or
/// anything else is written, and what compilation and Device::run throw. check_top_k,
/// check_group_tokens and check_gather expect the host's integers and copies; weights and sums are
/// within the bounds below.
void check_top_k(std::shared_ptr<Device> device, const ShaderCache& cache);
void check_group_tokens(std::shared_ptr<Device> device, const ShaderCache& cache);
void check_gather(std::shared_ptr<Device> device, const ShaderCache& cache);
void check_combine(std::shared_ptr<Device> device, const ShaderCache& cache);

/// Largest error of a correct weight y, of a value that lies `distance` below the largest of the
/// `terms` values whose exponentials are added.
double weight_bound(double distance, std::int64_t terms, double y);

/// Largest error of a correct sum of `terms` products and a residual, whose sizes add up to `size`.
double combine_bound(std::int64_t terms, double size);

}  // namespace rooftile
