// One point of the kernel space. A parameter has the same name in C++, in GLSL (there in upper
// case), in the database, on the command line and in reports.
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
/// Loads go through a storage buffer, through a uniform texel buffer, or from a storage buffer
/// directly into a matrix unit's fragments (matrix).
enum class LoadPath : std::uint8_t { kBuffer, kTexel, kDirect };
/// How the lanes of a kernel share A, or share their sums (vector). Stored: in shared memory, but
/// in the order in which operands are stored. Matrix then has tiles that are not along k, and sums
/// that only have to be narrowed to f16 go to C from the matrix unit (narrows_fragments); vector
/// shares A besides the sums.
enum class Stage : std::uint8_t { kNone, kShared, kSubgroup, kStored };
/// The order of workgroups: n fastest, m fastest, or through groups of 4, 8 or 16 rows of tiles.
enum class Raster : std::uint8_t { kRow, kColumn, kGrouped4, kGrouped8, kGrouped16 };
/// With exact edges all sizes are multiples of the tile, and the kernel has no bounds checks.
enum class Edge : std::uint8_t { kExact, kMasked };
/// Whether a kernel with one tile in shared memory fetches the next tile into registers before it
/// multiplies the present one, so that the loads have that long. Peeled (matrix): it does, and has
/// copies of its code for the first and the last tile.
enum class Prefetch : std::uint8_t { kNone, kAhead, kPeeled };
/// Which rows of a tile along k neighbouring invocations store to shared memory. Permuted: rows
/// that lie in different banks (store_rows).
enum class StoreMap : std::uint8_t { kPlain, kPermuted };
/// How split-K adds its partial sums. Ordered: each lies apart and a second kernel adds them in a
/// fixed order, so that results repeat bit by bit. Atomic: kernels add to one set of sums as they
/// finish, which needs less memory.
enum class Reduction : std::uint8_t { kOrdered, kAtomic };
/// Whether a pack kernel first writes the operand in the layout that the kernel reads.
enum class Packed : std::uint8_t { kNo, kYes };
/// The invocations that share a matrix: a subgroup, or the whole workgroup, for which the driver
/// moves the data.
enum class Scope : std::uint8_t { kSubgroup, kWorkgroup };
/// The spirv-opt passes; the driver optimises in both cases.
enum class Optimization : std::uint8_t { kZero, kPerformance };

struct Variant {
  Family family = Family::kNaive;
  int tile_m = 16, tile_n = 16;  // workgroup's block of C
  // Depth of the shared-memory tile (tiled, matrix), or the steps of k of all lanes in one trip
  // (vector); 1 for other families.
  int tile_k = 1;
  int reg_m = 1, reg_n = 1;  // one invocation's block of C; 1 for matrix
  // A subgroup's block of C (matrix, tiled); 0: subgroups have no block of their own. With
  // workgroup scope it is the size of a subgroup's share only, because the driver chooses the
  // elements.
  int subgroup_m = 0, subgroup_n = 0;
  int matrix_m = 0, matrix_n = 0, matrix_k = 0;  // shape of a matrix operation (matrix)
  Scope scope = Scope::kSubgroup;                // of the matrix operations (matrix)
  // Elements per load: 1, 2 or 4. They are words of 32 bits for matrix, for dot and for a quantised
  // B.
  int vector_width_a = 1, vector_width_b = 1;
  LoadPath load_path_a = LoadPath::kBuffer, load_path_b = LoadPath::kBuffer;
  Stage stage = Stage::kNone;
  // Tiles in shared memory: 1, or 2, with which the next tile is always fetched ahead (tiled,
  // matrix; for matrix also the one after the next).
  int stages = 1;
  // Elements that pad a row of a shared tile against bank conflicts (tiled, matrix).
  int shared_pad = 0;
  int unroll_k = 1;  // k steps per loop trip
  // Elements of k that one instruction multiplies: 4 for 8-bit integers by packed dot products.
  // Then tile_k, unroll_k and vector widths count words of four.
  int dot = 1;
  int split_k = 1;  // partial sums along k that are computed in parallel and then added to make C
  Reduction reduction = Reduction::kOrdered;
  int tile_batch = 1;  // matrices of the batch in a workgroup (batched_small only)
  Raster raster = Raster::kRow;
  Packed packed_a = Packed::kNo, packed_b = Packed::kNo;
  Edge edge = Edge::kMasked;
  int subgroup_size = 0;  // lanes that the kernel is built for; 0: any number
  Optimization optimization = Optimization::kZero;
  Prefetch prefetch = Prefetch::kNone;    // with one stage (tiled, matrix)
  StoreMap store_map = StoreMap::kPlain;  // how tiles along k are stored (matrix)
  // Subgroups that share a block of C and divide the steps of each tile (matrix of subgroup scope).
  int subgroups_k = 1;

  bool operator==(const Variant&) const = default;
};

/// Parameters in declaration order with their values as text: "family" -> "tiled", "tile_m" ->
/// "64".
std::vector<std::pair<std::string, std::string>> parameters(const Variant& v);
/// A parameter's value: a number, or a word's position among the `words` that the parameter takes
/// (0: it takes numbers).
struct ParameterNumber {
  int value, words;
};
/// Those of all parameters in declaration order.
std::vector<ParameterNumber> parameter_numbers(const Variant& v);
/// Sets one parameter; throws kInvalidArgument, listing what is known, for an unknown name or
/// value.
void set_parameter(Variant& v, std::string_view parameter, std::string_view value);
/// Names of all parameters in declaration order.
std::vector<std::string> parameter_names();
/// The values that a parameter takes, in words: "naive, register, ..." or "a whole number". Throws
/// kInvalidArgument for an unknown name.
std::string parameter_values(std::string_view parameter);
/// What a parameter is, in a phrase, and the words that it takes.
std::string parameter_meaning(std::string_view parameter);

/// Parameters as text, "family=tiled tile_m=64 ...", so that parse_variant(to_string(v)) == v.
/// A parameter that is younger than stored results is left out where it has its default, so that
/// kernels without it keep their texts, hashes and results.
std::string to_string(const Variant& v);
/// Reads such a text; parameters that are left out keep their defaults.
Variant parse_variant(std::string_view text);

/// Parameters with values as text: {"tile_m", "64"}. Where a parameter occurs several times, the
/// last value counts.
using ParameterSettings = std::vector<std::pair<std::string, std::string>>;
/// Splits "tile_m=64 reg_m=4" without checking names and values. Throws kInvalidArgument for a word
/// that is no parameter=value.
ParameterSettings parse_settings(std::string_view text);
/// Returns v with these values. Throws as set_parameter does.
Variant with_settings(Variant v, const ParameterSettings& settings);
/// A name for tables, "tiled 64x64x16 4x4 v4/4", without what has its default and the subgroup's
/// size: among kernels of one subgroup size and one device no two have the same name.
std::string short_name(const Variant& v);

std::string_view name(Family family);
/// The number of invocations that share the steps of k of one block of C.
inline int lanes_k(const Variant& v) {
  return v.family == Family::kVector ? v.tile_k / v.unroll_k : 1;
}
/// Whether matrix operations have workgroup scope.
inline bool has_workgroup_scope(const Variant& v) {
  return v.family == Family::kMatrix && v.scope == Scope::kWorkgroup;
}
/// Whether lanes share what lies in shared memory.
inline bool uses_shared_memory(const Variant& v) {
  return v.stage == Stage::kShared || v.stage == Stage::kStored;
}
/// Whether the invocations of a vector kernel read A from shared memory.
inline bool shares_a(const Variant& v) {
  return v.family == Family::kVector && v.stage == Stage::kStored;
}
/// Whether the kernel stages tiles of this operand in shared memory.
inline bool staged_a(const Variant& v) {
  return uses_shared_memory(v) && v.load_path_a != LoadPath::kDirect;
}
inline bool staged_b(const Variant& v) {
  return uses_shared_memory(v) && v.load_path_b != LoadPath::kDirect;
}
inline int local_size(const Variant& v) {
  if (v.family == Family::kMatrix)
    return (v.tile_m / v.subgroup_m) * (v.tile_n / v.subgroup_n) * v.subgroups_k * v.subgroup_size;
  return (v.tile_m / v.reg_m) * (v.tile_n / v.reg_n) * lanes_k(v) * v.tile_batch;
}

}  // namespace rooftile
