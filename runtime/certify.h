// No kernel is dispatched before it has passed these: adversarial problems against float64 under
// the standard error bound.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/problem.h"
#include "runtime/kernel.h"

namespace rooftile {

/// What is planted in the operands besides uniform values in [-1, 1].
enum class Plant : std::uint8_t { kNothing, kDenormals, kInfinities };

struct CertificationCase {
  Problem problem;
  Plant plant = Plant::kNothing;
  bool nan_in_c = false;  // beta == 0 over NaN
};

/// Fixed for a variant and signature: sizes in {1, 2, 3, 5, 17, tile-1, tile, tile+1, prime} of
/// every dimension, ld beyond the row, alpha and beta in {0, 1, -1, 0.5}. A variant that demands
/// exact tiles or aligned ld gets what it can take.
std::vector<CertificationCase> certification_cases(const Variant& variant,
                                                   const Signature& signature,
                                                   const DeviceLimits& limits);

struct Certificate {
  bool passed = false;
  bool interrupted = false;  // not all cases were run, none was wrong
  std::string detail = {};   // of the first failure: case, element, got, expected, bound
  std::size_t cases = 0;
  double worst_ratio = 0;  // largest error over its bound
};

/// Runs every case, with guard zones of NaN around A and B and of canaries around C. Device errors
/// are thrown, a wrong result is a certificate that did not pass. is_interrupted
/// is asked before each case.
Certificate certify(Device& device, const Kernel& kernel, const Signature& signature,
                    const std::function<bool()>& is_interrupted = {});

}  // namespace rooftile
