// Ranking of candidates before any is measured. Every term is work over a measured rate; the terms
// are added, not maximised, so that of two kernels with the same bottleneck the one with less of
// everything else comes first.
#include <cmath>

#include "runtime/model/roofline.h"

namespace rooftile {
namespace {

// Instructions that a trip of the k loop costs besides its multiply-adds: counter, compare and
// branch.
constexpr double kLoopInstructions = 2;
// A tile in shared memory is filled, waited for, used, waited for; with two stages one of the waits
// falls away.
constexpr double kBarriersPerTile = 2;

double over(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

/// Sums of one invocation.
double values_of_invocation(const Variant& v) {
  if (v.family == Family::kMatrix)
    return static_cast<double>(v.subgroup_m) * v.subgroup_n / v.subgroup_size;
  return static_cast<double>(v.reg_m) * v.reg_n;
}

/// Work as it is really issued: whole blocks, edges included.
struct Issued {
  double workgroups, invocations;
  double multiply_adds;
  double a_elements, b_elements;  // loaded by invocations, each for itself
  double a_shared, b_shared;      // loaded once a workgroup
};

Issued issued(const Problem& p, const Variant& v, const Waves& w) {
  const double k = static_cast<double>(p.k);
  const double multiply_adds = w.workgroups * v.tile_m * v.tile_n * k;
  const bool matrix = v.family == Family::kMatrix;
  return {.workgroups = w.workgroups,
          .invocations = w.workgroups * local_size(v),
          .multiply_adds = multiply_adds,
          .a_elements = multiply_adds / (matrix ? v.subgroup_n : v.reg_n),
          .b_elements = multiply_adds / (matrix ? v.subgroup_m : v.reg_m),
          .a_shared = multiply_adds / v.tile_n,
          .b_shared = multiply_adds / v.tile_m};
}

double loads_per_ns(const DeviceRates& rates, LoadPath path, int width) {
  const bool vector = width > 1;
  if (path == LoadPath::kTexel)
    return vector ? rates.texel_vector_loads_per_ns : rates.texel_loads_per_ns;
  return vector ? rates.buffer_vector_loads_per_ns : rates.buffer_loads_per_ns;
}

/// elements / width loads, and the bytes that they carry from the fastest memory level where load
/// rates are unknown.
double load_ns(const DeviceRates& rates, LoadPath path, int width, double elements) {
  const double rate = loads_per_ns(rates, path, width);
  if (rate > 0) return elements / width / rate;
  return over(elements * static_cast<double>(bytes_of(DataType::kF32)),
              rates.levels.empty() ? 0 : rates.levels.front().gbps);
}

/// Loads of a quantised B carry words of several values, as vectors where the kernel takes four.
double quantized_loads_ns(const Problem& p, const Variant& v, const DeviceRates& rates,
                          double elements) {
  constexpr double kWordBits = 32;
  const double words = elements * p.types.b.bits / kWordBits;
  const bool vectors = v.family != Family::kTiled && v.vector_width_b == 4;
  return load_ns(rates, v.load_path_b, vectors ? 4 : 1, words);
}

double operand_loads_ns(const Problem& p, const Variant& v, const DeviceRates& rates,
                        const Issued& i) {
  const bool b_once = staged_b(v) && v.family != Family::kVector,
             a_once = (staged_a(v) && v.family != Family::kVector) || v.stage == Stage::kSubgroup;
  const double b_elements = b_once ? i.b_shared : i.b_elements;
  const double a_elements = a_once ? i.a_shared : i.a_elements;
  if (v.family == Family::kMatrix) {  // words of several elements
    const double per_word = 4.0 / static_cast<double>(bytes_of(p.types.a));
    return load_ns(rates, v.load_path_a, v.vector_width_a, a_elements / per_word) +
           load_ns(rates, v.load_path_b, v.vector_width_b, b_elements / per_word);
  }
  return load_ns(rates, v.load_path_a, v.vector_width_a, a_elements) +
         (quantized(p.types) && v.packed_b == Packed::kNo
              ? quantized_loads_ns(p, v, rates, b_elements)
              : load_ns(rates, v.load_path_b, v.vector_width_b, b_elements));
}

/// Reads from shared memory and the waits around them.
double shared_ns(const Problem& p, const Variant& v, const DeviceRates& rates, const Issued& i) {
  if (v.family == Family::kVector) {  // a tree over the lanes for each row of sums
    if (lanes_k(v) == 1) return 0;
    const double bytes =
        2 * i.invocations * v.reg_m * v.reg_n * static_cast<double>(bytes_of(DataType::kF32));
    return over(bytes, rates.shared_gbps) +
           i.invocations * v.reg_m * (std::log2(lanes_k(v)) + 1) * rates.barrier_ns;
  }
  if (v.stage != Stage::kShared) return 0;
  // Tiles hold float32 whatever the operands are, but for matrix units.
  const bool matrix = v.family == Family::kMatrix;
  const double bytes = ((staged_a(v) ? i.a_elements : 0) + (staged_b(v) ? i.b_elements : 0)) *
                       static_cast<double>(bytes_of(matrix ? p.types.a : DataType::kF32));
  const double tiles = std::ceil(static_cast<double>(p.k) / v.tile_k);
  const double barriers = tiles * kBarriersPerTile / v.stages;
  return over(bytes, rates.shared_gbps) + i.invocations * barriers * rates.barrier_ns;
}

/// One more dispatch for each packed operand, which reads and writes it.
double pack_ns(const Problem& p, const Variant& v, const DeviceRates& rates) {
  const std::int64_t packed_bytes =
      bytes_of(v.family == Family::kMatrix ? p.types.a : DataType::kF32);
  const auto one = [&](Packed packed, double elements) {
    if (packed == Packed::kNo) return 0.0;
    const double bytes =
        elements * static_cast<double>(p.batch * (bytes_of(p.types.a) + packed_bytes));
    return rates.dispatch_ns + over(bytes, gbps_for_footprint(rates, bytes));
  };
  const double m = static_cast<double>(p.m), n = static_cast<double>(p.n),
               k = static_cast<double>(p.k);
  return one(v.packed_a, m * k) + one(v.packed_b, k * n);
}

}  // namespace

double analytical_ns(const Problem& p, const Variant& v, const DeviceRates& rates) {
  const Waves w = waves(p, v, rates.compute_units);
  const Issued i = issued(p, v, w);
  const double memory_bytes = minimum_bytes(p);
  const double per_trip = kLoopInstructions / (values_of_invocation(v) * v.unroll_k);
  const double math = over(2 * i.multiply_adds * (1 + per_trip), math_gflops(rates, p.types, v));
  const double busy = math + operand_loads_ns(p, v, rates, i) + shared_ns(p, v, rates, i);
  return busy / w.wave_efficiency + over(memory_bytes, gbps_for_footprint(rates, memory_bytes)) +
         i.workgroups * rates.workgroup_ns + pack_ns(p, v, rates) + rates.dispatch_ns;
}

}  // namespace rooftile
