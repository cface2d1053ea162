// Ranking of candidates before any is measured. Every term is work over a rate, which is measured
// except for devices that are only compiled for. The terms are added instead of taking their
// maximum, so that of two kernels with the same bottleneck the one with less other work ranks
// first.
#include <algorithm>
#include <cmath>

#include "runtime/model/gpu/registers.h"
#include "runtime/model/k_slices.h"
#include "runtime/model/occupancy.h"
#include "runtime/model/roofline.h"

namespace rooftile {
namespace {

// Instructions of one iteration of the k loop besides its multiply-adds: counter, compare and
// branch.
constexpr double kLoopInstructions = 2;
// A tile in shared memory is filled and used, with a barrier after each; two stages need one
// barrier less.
constexpr double kBarriersPerTile = 2;
// Instructions of a GPU for each tile besides its multiply-adds, loads and stores: waits, barriers,
// addresses, the loop. 28 to 40 in the main loops of matrix kernels on AMD's and NVIDIA's GPUs
// (tests/model/data/compiled_kernels.csv).
constexpr double kInstructionsPerTile = 32;
// Of a float32 element that becomes bfloat16 parts: a product, a mask and a difference for each of
// the first two, a mask for the third, and 1.5 that join the halves of words.
constexpr double kInstructionsPerSplit = 8.5;
// A float32 element becomes an 8-bit integer by two products, an addition, two instructions that
// join bytes, and its share in the largest magnitude. The sum of the steps that share a scale takes
// a conversion and two scales, and where A is summed a product and a difference.
constexpr double kInstructionsPerRounding = 6, kInstructionsPerScale = 3,
                 kInstructionsPerAddend = 2;

double over(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

/// Number of sums of one invocation.
double values_of_invocation(const Variant& v) {
  if (v.family == Family::kMatrix)
    return static_cast<double>(v.subgroup_m) * v.subgroup_n / v.subgroup_size;
  return static_cast<double>(v.reg_m) * v.reg_n;
}

/// Elements of k in a masked trip at the end of the k loop; 0: the kernel has no such trips.
double tail_elements(const Problem& p, const Variant& v) {
  if (v.family == Family::kNaive || !has_tail(v)) return 0;
  return static_cast<double>(tail_k(v, signature_of(p))) * v.dot;
}

/// Number of executed iterations of a kernel's loops over the number needed. Devices that run
/// invocations together under a mask run an extra masked iteration before they find that no
/// invocation is left in the loop.
struct Repeated {
  double walk = 1;      // Along k, for loads.
  double multiply = 1;  // For the work on the loaded values.
};
Repeated repeated(const Problem& p, const Variant& v, double depth, const DeviceRates& rates) {
  if (depth == 0 || rates.loop_overrun == 0) return {};
  const double trip = v.family == Family::kNaive ? 1 : elements_of_trip(v);
  Repeated r;
  if (nests_k_loop(v)) {
    r.walk = 1 + rates.loop_overrun / std::ceil(depth / trip);
    const double inner_trips = v.family == Family::kTiled ? v.tile_k / v.unroll_k : 1;
    r.multiply = r.walk * (inner_trips > 1 ? 1 + rates.loop_overrun / inner_trips : 1);
  } else {
    const double lanes = lanes_k(v);
    r.walk = 1 + rates.loop_overrun * (trip / lanes + tail_elements(p, v)) / (depth / lanes);
    r.multiply = r.walk;
  }
  return r;
}

/// Work as it is issued: whole blocks, edges included, and extra loop iterations.
struct Issued {
  double workgroups, invocations;
  double multiply_adds;
  // Elements, or words of `dot` elements, that each invocation loads for itself, and those that are
  // loaded once per workgroup.
  double a_elements, b_elements, a_shared, b_shared;
  double depth;  // Steps of k of a workgroup.
};

Issued issued(const Problem& p, const Variant& v, const Waves& w, const DeviceRates& rates) {
  const double depth = k_slices(p, v).depth;
  const Repeated times = repeated(p, v, depth, rates);
  const double needed = w.workgroups * v.tile_batch * v.tile_m * v.tile_n * depth;
  const double multiply_adds = needed * times.multiply;
  const double loaded = multiply_adds / v.dot;
  const bool matrix = v.family == Family::kMatrix;
  return {.workgroups = w.workgroups,
          .invocations = w.workgroups * local_size(v),
          .multiply_adds = multiply_adds,
          .a_elements = loaded / (matrix ? v.subgroup_n : v.reg_n),
          .b_elements = loaded / (matrix ? v.subgroup_m : v.reg_m),
          .a_shared = needed * times.walk / v.dot / v.tile_n,
          .b_shared = needed * times.walk / v.dot / v.tile_m,
          .depth = depth};
}

double loads_per_ns(const DeviceRates& rates, LoadPath path, int width) {
  const bool vector = width > 1;
  if (path == LoadPath::kTexel)
    return vector ? rates.texel_vector_loads_per_ns : rates.texel_loads_per_ns;
  return vector ? rates.buffer_vector_loads_per_ns : rates.buffer_loads_per_ns;
}

double cached_bytes_ns(const DeviceRates& rates, double elements) {
  return over(elements * static_cast<double>(bytes_of(DataType::kF32)), cache_gbps(rates));
}

/// Whether a kernel has barriers while its invocations hold sums.
bool is_synchronised(const Variant& v) { return uses_shared_memory(v) || lanes_k(v) > 1; }

/// Time of elements / width loads; where load rates are unknown, time of their bytes from the
/// fastest memory level.
double load_ns(const DeviceRates& rates, LoadPath path, int width, double elements) {
  const double rate = loads_per_ns(rates, path, width);
  return rate > 0 ? elements / width / rate : cached_bytes_ns(rates, elements);
}
double store_ns(const DeviceRates& rates, int width, double elements) {
  const double rate = width > 1 ? rates.buffer_vector_stores_per_ns : rates.buffer_stores_per_ns;
  return rate > 0 ? elements / width / rate : cached_bytes_ns(rates, elements);
}
/// Time of stores of C or of partial sums. Each store checks beta and the edge; devices that run
/// both sides of a branch also pay for the side not taken.
double store_c_ns(const DeviceRates& rates, int width, double elements) {
  const double rate = width > 1 ? rates.c_vector_stores_per_ns : rates.c_stores_per_ns;
  return rate > 0 ? elements / width / rate : store_ns(rates, width, elements);
}

/// Float64 loads and stores count as those of twice as many words, in vectors of at most four.
int width_in_words(const Problem& p, int width) {
  return std::min(4, width * words_of_element(p.types));
}

/// Loads of a quantised B carry words of several values, as vectors where the kernel takes four.
double quantized_loads_ns(const Problem& p, const Variant& v, const DeviceRates& rates,
                          double elements) {
  const double words = elements * bytes_per_element_b(p.types) / kElementBytes;
  return load_ns(rates, v.load_path_b, words_width(v, p.types), words);
}

double operand_loads_ns(const Problem& p, const Variant& v, const DeviceRates& rates,
                        const Issued& i) {
  const bool b_once = staged_b(v) && v.family != Family::kVector,
             a_once = (staged_a(v) && v.family != Family::kVector) || shares_a(v) ||
                      v.stage == Stage::kSubgroup;
  const double b_elements = b_once ? i.b_shared : i.b_elements;
  const double a_elements = a_once ? i.a_shared : i.a_elements;
  if (v.family == Family::kMatrix) {  // Loads are words of several elements.
    const double per_word = elements_per_word(v, p.types);
    return load_ns(rates, v.load_path_a, v.vector_width_a, a_elements / per_word) +
           load_ns(rates, v.load_path_b, v.vector_width_b, b_elements / per_word);
  }
  const Signature s = signature_of(p);
  const int words = words_of_element(p.types);
  const auto loads_ns = [&](LoadPath path, int width, double elements) {
    return load_ns(rates, path, width_in_words(p, width), words * elements);
  };
  return loads_ns(v.load_path_a, load_width_a(v, s), a_elements) +
         (reads_quantized(v, s) ? quantized_loads_ns(p, v, rates, b_elements)
                                : loads_ns(v.load_path_b, load_width_b(v, s), b_elements));
}

/// Time of vectors of A that each lane broadcasts to its subgroup.
double broadcasts_ns(const Variant& v, const DeviceRates& rates, const Issued& i) {
  constexpr double kVector = 4;
  return v.stage == Stage::kSubgroup ? over(i.a_elements / kVector, rates.broadcasts_per_ns) : 0;
}

/// Values that each row of sums of the family vector halves: levels of its reduction tree.
double halvings(const Variant& v, const DeviceRates& rates) {
  return std::log2(lanes_k(v)) + rates.loop_overrun;
}

/// Time of traffic with shared memory.
double shared_ns(const Problem& p, const Variant& v, const DeviceRates& rates, const Issued& i) {
  const auto value_bytes = static_cast<double>(element_bytes(p.types));
  if (v.family == Family::kVector) {  // A reduction tree over the lanes for each row of sums.
    if (lanes_k(v) == 1) return 0;
    // Each value is written and read once. At each level of the tree two values are read and one is
    // written, and lanes without work wait for the others.
    const double values = i.invocations * v.reg_m * v.reg_n * (2 + 3 * halvings(v, rates));
    const double of_a = shares_a(v) ? i.a_elements + i.a_shared : 0,
                 bytes_of_a = multiplies_int8(v, p.types) ? 1 : value_bytes;
    return over(values * value_bytes + of_a * bytes_of_a, rates.shared_gbps);
  }
  if (!uses_shared_memory(v)) return 0;
  // Tiles hold float32 for all operand types but float64, except for matrix units.
  const bool matrix = v.family == Family::kMatrix;
  const auto bytes = [&](Operand operand, double elements) {
    return elements * (matrix ? static_cast<double>(unit_bytes(p.types, operand))
                       : multiplies_int8(v, p.types) ? 1
                                                     : value_bytes);
  };
  return over((staged_a(v) ? bytes(Operand::kA, i.a_elements + i.a_shared) : 0) +
                  (staged_b(v) ? bytes(Operand::kB, i.b_elements + i.b_shared) : 0),
              rates.shared_gbps);
}

double barriers_ns(const Variant& v, const DeviceRates& rates, const Issued& i) {
  if (!uses_shared_memory(v)) return 0;
  const double tiles = std::ceil(i.depth / elements_of_trip(v)) + rates.loop_overrun;
  const double of_tiles =
      v.family == Family::kVector && !shares_a(v) ? 0 : tiles * kBarriersPerTile / v.stages;
  // Subgroups that share a block meet twice for each fragment of it.
  const double of_sums = v.family == Family::kVector ? v.reg_m * (halvings(v, rates) + 1)
                         : v.subgroups_k > 1
                             ? 2.0 * v.subgroup_m * v.subgroup_n / (v.matrix_m * v.matrix_n)
                             : 0;
  return i.invocations * (of_tiles + of_sums) * rates.barrier_ns;
}

/// Time of storing C, or the partial sums of split-K, from registers.
double stores_ns(const Problem& p, const Variant& v, const DeviceRates& rates, const Issued& i) {
  const double elements = static_cast<double>(p.m * p.n * p.batch) * k_slices(p, v).parts;
  double ns = store_c_ns(rates, width_in_words(p, vector_width_c(v, signature_of(p))),
                         words_of_element(p.types) * elements);
  // Row for row, the others moved up by one each time (templates/epilogue/store_c.glsl).
  if (v.family != Family::kNaive && v.family != Family::kMatrix) {
    const double rows = std::min<double>(v.reg_m, static_cast<double>(p.m));
    const double moves = i.invocations / lanes_k(v) * rows * v.reg_m * v.reg_n;
    ns += over(2 * moves, rates.fma_gflops);
  }
  return ns;
}

/// Time of the second kernel of split-K, which adds the partial sums four columns at a time.
double reduce_ns(const Problem& p, const Variant& v, const DeviceRates& rates) {
  const KSlices k = k_slices(p, v);
  if (!is_reduced(k, v)) return 0;
  constexpr int kWidth = 4;
  const double elements = static_cast<double>(p.m * p.n * p.batch * words_of_element(p.types));
  return rates.dispatch_ns + dependent_dispatch_ns(rates, k.parts) +
         load_ns(rates, LoadPath::kBuffer, kWidth,
                 elements * static_cast<double>(stored_parts(v, p.k))) +
         store_c_ns(rates, kWidth, elements);
}

/// Time of packing, which loads and stores four elements at a time and moves the bytes of
/// packing().
double pack_ns(const Problem& p, const Variant& v, const DeviceRates& rates) {
  const Packing packed = packing(p, v, rates);
  if (packed.bytes == 0) return 0;
  constexpr int kWidth = 4;
  const double elements = packed.bytes / (2.0 * static_cast<double>(bytes_of(DataType::kF32)));
  return packed.ns + dependent_dispatch_ns(rates, 1) +
         load_ns(rates, LoadPath::kBuffer, kWidth, elements) + store_ns(rates, kWidth, elements);
}

/// Time of a GPU's instructions for tiles that neither multiply nor move data, of those that start
/// matrix operations or split or round their operands, and of its loads of fragments past shared
/// memory, which are words with an address each.
double issue_ns(const Problem& p, const Variant& v, const DeviceRates& rates, const Issued& i) {
  if (rates.gpu == nullptr || !nests_k_loop(v)) return 0;
  const double tiles = std::ceil(i.depth / elements_of_trip(v));
  double instructions = i.invocations * tiles * kInstructionsPerTile;
  if (v.family == Family::kMatrix)
    instructions += operations_of(v, p.types) * i.multiply_adds * v.subgroup_size /
                    (static_cast<double>(v.matrix_m) * v.matrix_n * v.matrix_k);
  const bool splits_a = splits(v, p.types, Operand::kA), splits_b = splits(v, p.types, Operand::kB);
  instructions +=
      kInstructionsPerSplit * ((splits_a ? i.a_shared : 0) + (splits_b ? i.b_shared : 0));
  if (multiplies_int8(v, p.types))
    instructions += kInstructionsPerRounding * i.a_shared +
                    (kInstructionsPerScale + (sums_int8(p.types) ? kInstructionsPerAddend : 0)) *
                        i.multiply_adds / rounded_steps(v, p.types);
  else if (scales_sums(v, p.types))  // a multiply-add to each sum for each scale and addend
    instructions += (has_addends(p.types) ? 2 : 1) * i.multiply_adds / scale_steps(p.types);
  else if (splits_b)  // an addition to each sum in each step
    instructions += i.multiply_adds / v.matrix_k;
  const double per_word = elements_per_word(v, p.types);
  if (v.load_path_a == LoadPath::kDirect) instructions += i.a_elements / per_word;
  if (v.load_path_b == LoadPath::kDirect) instructions += i.b_elements / per_word;
  return over(instructions * 2 * rates.gpu->multiply_adds / rates.gpu->instructions,
              rates.fma_gflops);
}

/// Time of registers that a GPU's compiler spills to memory: each is stored and loaded in each step
/// of k.
double spills_ns(const Problem& p, const Variant& v, const DeviceRates& rates, const Issued& i) {
  if (rates.gpu == nullptr) return 0;
  const double spilled =
      needed_registers(v, p.types, *rates.gpu) - available_registers(v, *rates.gpu);
  if (spilled <= 0) return 0;
  const double depth = v.family == Family::kMatrix ? v.matrix_k : 1;
  const double steps = i.multiply_adds / (values_of_invocation(v) * depth);
  return 2 * cached_bytes_ns(rates, steps * spilled);
}

/// Time of the multiply-adds in registers, without stalls by memory. Sums that live across a
/// barrier are in memory on devices that switch between invocations there.
double multiply_add_ns(const Problem& p, const Variant& v, const DeviceRates& rates,
                       double multiply_adds) {
  const double flops = 2 * multiply_adds;
  const double apart = over(flops, math_gflops(rates, p.types, v));
  if (!is_synchronised(v) || v.family == Family::kMatrix || v.dot > 1 ||
      multiplies_int8(v, p.types))
    return apart;
  return std::max(apart, over(words_of_element(p.types) * flops, rates.synchronised_fma_gflops));
}

double launch_ns(const Variant& v, const DeviceRates& rates, double workgroups) {
  const bool dearer = is_synchronised(v) && rates.synchronised_workgroup_ns > 0;
  return workgroups * (dearer ? rates.synchronised_workgroup_ns : rates.workgroup_ns);
}

/// What a kernel's time is made of, packing excluded, in ns.
struct Costs {
  double math, loads, shared, broadcasts, barriers, stores;
  double tail;    ///< Of units and lanes that idle while the others do the above.
  double waits;   ///< For loads and barriers, while a unit has nothing else to do.
  double hidden;  ///< Of the above, where units do several of them at once.
  double memory;  ///< Of the operands' bytes from the level that holds them.
  double launch, sums;
  double sum() const {
    return math + loads + shared + broadcasts + barriers + stores + tail + waits - hidden + memory +
           launch + sums;
  }
};

Costs costs_of(const Problem& p, const Variant& v, const DeviceRates& rates) {
  const Waves w = waves(p, v, rates.compute_units);
  const Issued i = issued(p, v, w, rates);
  const double memory_bytes = minimum_bytes(p);
  const double per_trip = kLoopInstructions / (values_of_invocation(v) * v.unroll_k);
  Costs made = {.math = multiply_add_ns(p, v, rates, i.multiply_adds) +
                        over(2 * i.multiply_adds * per_trip, math_gflops(rates, p.types, v)) +
                        issue_ns(p, v, rates, i),
                .loads = operand_loads_ns(p, v, rates, i) + spills_ns(p, v, rates, i),
                .shared = shared_ns(p, v, rates, i),
                .broadcasts = broadcasts_ns(v, rates, i),
                .barriers = barriers_ns(v, rates, i),
                .stores = stores_ns(p, v, rates, i),
                .tail = 0,
                .waits = 0,
                .hidden = 0,
                .memory = over(memory_bytes, gbps_for_footprint(rates, memory_bytes)),
                .launch = launch_ns(v, rates, i.workgroups) + rates.dispatch_ns,
                .sums = reduce_ns(p, v, rates)};
  const double busy =
      made.math + made.loads + made.shared + made.broadcasts + made.barriers + made.stores;
  const double longest =
      std::max({made.math, made.loads, made.shared, made.broadcasts, made.barriers, made.stores});
  const UnitTimes units = unit_times(p, v, rates, w, busy, longest);
  made.tail = units.tail_ns;
  made.waits = units.wait_ns;
  made.hidden = units.hidden_ns;
  return made;
}

}  // namespace

std::vector<Bound> costs(const Problem& p, const Variant& v, const DeviceRates& rates) {
  const Costs parts = costs_of(p, v, rates);
  std::vector<Bound> all = {{"math", parts.math},
                            {"memory:cache", parts.loads},
                            {"memory:shared", parts.shared},
                            {"broadcasts", parts.broadcasts},
                            {"barriers", parts.barriers},
                            {"stores", parts.stores},
                            {"tail", parts.tail}};
  const std::string level = holding_level(rates, minimum_bytes(p));
  // Of operands that the nearest cache holds it adds to the loads.
  if (const auto same = std::ranges::find(all, level, &Bound::limiter); same != all.end())
    same->ns += parts.memory;
  else
    all.push_back({level, parts.memory});
  all.push_back({"latency", parts.waits + parts.launch});
  all.push_back({"sums", parts.sums});
  std::ranges::stable_sort(all, std::greater{}, &Bound::ns);
  return all;
}

double analytical_ns(const Problem& p, const Variant& v, const DeviceRates& rates) {
  return pack_ns(p, v, rates) + costs_of(p, v, rates).sum();
}

}  // namespace rooftile
