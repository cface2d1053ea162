// The shaders of row operations, compared with float64.
#pragma once

#include <memory>

#include "core/epilogue.h"
#include "runtime/device/device.h"
#include "runtime/kernel/shader_cache.h"

namespace rooftile {

/// Computes small matrices with edges, padded rows and an offset on this device, and throws
/// kInternal where an element is beyond its error bound or where anything else is written. Throws
/// what compilation and Device::run throw.
void check_softmax(std::shared_ptr<Device> device, const ShaderCache& cache);
void check_multiply(std::shared_ptr<Device> device, Activation activation,
                    const ShaderCache& cache);

/// Largest error of a correct softmax of `used` scaled values (scale * x, in float32), at the
/// element `value`; `largest` is the largest of them and y the exact result. Vulkan allows exp an
/// error of 3 + 2 |argument| units in the last place and a division 2.5.
double softmax_bound(double value, double largest, std::int64_t used, double y);

/// Largest error of a correct activation(x) * y.
double multiply_bound(Activation activation, double x, double y);

}  // namespace rooftile
