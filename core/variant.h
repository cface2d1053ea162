// One point of the kernel space. Every parameter has one name in C++, GLSL (upper case), database,
// CLI and reports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rooftile {

enum class Family : std::uint8_t {
  kNaive,
  kRegister,
  kTiled,
  kBroadcast,
  kVector,
  kBatchedSmall,
  kMatrix
};
/// Storage buffer, uniform texel buffer; straight from a storage buffer into a matrix unit's
/// fragments (matrix).
enum class LoadPath : std::uint8_t { kBuffer, kTexel, kDirect };
/// How lanes share A, or their sums (vector).
enum class Stage : std::uint8_t { kNone, kShared, kSubgroup };
/// Workgroups with n fastest, with m fastest, or through groups of so many rows of tiles.
enum class Raster : std::uint8_t { kRow, kColumn, kGrouped4, kGrouped8, kGrouped16 };
/// Exact: sizes are multiples of the tile, no checks.
enum class Edge : std::uint8_t { kExact, kMasked };
/// Parts of a split product: each on its own and added in fixed order, so that results repeat bit
/// by bit; or added by whichever comes first, which needs one part's memory and no order.
enum class Reduction : std::uint8_t { kOrdered, kAtomic };
/// Operand re-laid out into panels by a pack kernel first.
enum class Packed : std::uint8_t { kNo, kYes };
/// Invocations that share a matrix: a subgroup, or the whole workgroup, for which the driver moves
/// the data.
enum class Scope : std::uint8_t { kSubgroup, kWorkgroup };
/// spirv-opt passes; the driver optimises either way.
enum class Optimization : std::uint8_t { kZero, kPerformance };

struct Variant {
  Family family = Family::kNaive;
  int tile_m = 16, tile_n = 16;  // workgroup's block of C
  // Depth of the shared-memory tile (tiled, matrix), of one turn of all lanes along k (vector),
  // else 1.
  int tile_k = 1;
  int reg_m = 1, reg_n = 1;  // one invocation's block of C; 1 for matrix
  // A subgroup's block of C (matrix, tiled), 0: none of its own. Where a matrix is the workgroup's
  // only how much of it a subgroup holds: which elements is the driver's choice.
  int subgroup_m = 0, subgroup_n = 0;
  int matrix_m = 0, matrix_n = 0, matrix_k = 0;  // what a matrix unit multiplies at once (matrix)
  Scope scope = Scope::kSubgroup;                // of those matrices (matrix)
  // Elements per load: 1, 2 or 4. For matrix words of 32 bits, as for dot and a quantised B.
  int vector_width_a = 1, vector_width_b = 1;
  LoadPath load_path_a = LoadPath::kBuffer, load_path_b = LoadPath::kBuffer;
  Stage stage = Stage::kNone;
  // Shared-memory tiles in flight: 1, or 2 with register prefetch (tiled, matrix).
  int stages = 1;
  // Elements that pad a row of a shared tile against bank conflicts (tiled, matrix).
  int shared_pad = 0;
  int unroll_k = 1;  // k steps per loop trip
  // Elements of k that one instruction multiplies: 4 for 8-bit integers by packed dot products.
  // Then tile_k, unroll_k and vector widths count words of four.
  int dot = 1;
  int split_k = 1;  // parts of k that run side by side; a second pass makes C of them
  Reduction reduction = Reduction::kOrdered;
  int tile_batch = 1;  // products a workgroup (batched_small only)
  Raster raster = Raster::kRow;
  Packed packed_a = Packed::kNo, packed_b = Packed::kNo;
  Edge edge = Edge::kMasked;
  int subgroup_size = 0;  // lanes the kernel is built for; 0: does not depend on it
  Optimization optimization = Optimization::kZero;

  bool operator==(const Variant&) const = default;
};

/// Parameters in declaration order with their values as text: "family" -> "tiled", "tile_m" ->
/// "64".
std::vector<std::pair<std::string, std::string>> parameters(const Variant& v);
/// Sets one parameter; throws kInvalidArgument, listing what is known, for an unknown name or
/// value.
void set_parameter(Variant& v, std::string_view parameter, std::string_view value);
/// Names of all parameters in declaration order.
std::vector<std::string> parameter_names();
/// What a parameter takes, for people: "naive, register, ..." or "a whole number". Throws
/// kInvalidArgument for an unknown name.
std::string parameter_values(std::string_view parameter);

/// "family=tiled tile_m=64 ...": every parameter, so that parse_variant(to_string(v)) == v.
std::string to_string(const Variant& v);
/// Parameters left out keep their defaults.
Variant parse_variant(std::string_view text);

/// Parameters with values as text: {"tile_m", "64"}. Of a parameter's several values the last
/// holds.
using ParameterSettings = std::vector<std::pair<std::string, std::string>>;
/// Splits "tile_m=64 reg_m=4" without looking at names and values. Throws kInvalidArgument for what
/// is no parameter=value.
ParameterSettings parse_settings(std::string_view text);
/// v with these values. Throws as set_parameter does.
Variant with_settings(Variant v, const ParameterSettings& settings);
/// What differs from the defaults of its family, short enough for a table: "tiled 64x64x16 4x4 v4".
std::string short_name(const Variant& v);

std::string_view name(Family family);
/// Invocations that share the steps of k of one block of C.
inline int lanes_k(const Variant& v) {
  return v.family == Family::kVector ? v.tile_k / v.unroll_k : 1;
}
/// Whether a matrix is a whole workgroup's.
inline bool has_workgroup_scope(const Variant& v) {
  return v.family == Family::kMatrix && v.scope == Scope::kWorkgroup;
}
/// Whether tiles of an operand lie in shared memory.
inline bool staged_a(const Variant& v) {
  return v.stage == Stage::kShared && v.load_path_a != LoadPath::kDirect;
}
inline bool staged_b(const Variant& v) {
  return v.stage == Stage::kShared && v.load_path_b != LoadPath::kDirect;
}
inline int local_size(const Variant& v) {
  if (v.family == Family::kMatrix)
    return (v.tile_m / v.subgroup_m) * (v.tile_n / v.subgroup_n) * v.subgroup_size;
  return (v.tile_m / v.reg_m) * (v.tile_n / v.reg_n) * lanes_k(v) * v.tile_batch;
}

}  // namespace rooftile
