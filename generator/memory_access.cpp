#include "generator/memory_access.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "generator/layout.h"

namespace rooftile {
namespace {

constexpr std::int64_t kBanks = 32, kBankBytes = 4, kLineBytes = 128;
constexpr int kUsualSubgroup = 32;
// Distances of rows and of the matrices of a batch: longer than what a workgroup reads of them.
constexpr std::int64_t kRowBytes = 1 << 20, kMatrixBytes = std::int64_t{1} << 40;

/// What an invocation accesses. Addresses in shared memory count from the tile's first byte.
struct Bytes {
  std::int64_t first, count;
};
using SubgroupBytes = std::span<const Bytes>;

/// The units of so many bytes that hold what is accessed, each once.
std::vector<std::int64_t> units_of(SubgroupBytes accessed, std::int64_t unit_bytes) {
  std::vector<std::int64_t> units;
  for (const auto& [first, count] : accessed)
    for (std::int64_t unit = first / unit_bytes; unit <= (first + count - 1) / unit_bytes; ++unit)
      units.push_back(unit);
  std::ranges::sort(units);
  units.erase(std::unique(units.begin(), units.end()), units.end());
  return units;
}

Access lines_of(SubgroupBytes accessed) {
  const std::int64_t unit = accessed.front().count,
                     bytes = std::ssize(units_of(accessed, unit)) * unit;
  return {static_cast<int>(units_of(accessed, kLineBytes).size()),
          static_cast<int>(divide_up(bytes, kLineBytes))};
}

/// A wavefront is repeated for each further word of a bank; lanes that read one word share it.
Access wavefronts_of(SubgroupBytes accessed) {
  const auto together =
      static_cast<std::size_t>(kBanks * kBankBytes / std::max(accessed.front().count, kBankBytes));
  Access access;
  for (std::size_t first = 0; first < accessed.size(); first += together) {
    std::array<std::array<std::int64_t, kBanks>, kBanks> words;  // of each bank
    std::array<std::size_t, kBanks> counts{};
    for (const auto& [begin, count] :
         accessed.subspan(first, std::min(together, accessed.size() - first)))
      for (std::int64_t word = begin / kBankBytes; word <= (begin + count - 1) / kBankBytes;
           ++word) {
        const auto bank = static_cast<std::size_t>(word % kBanks);
        const auto known = std::span(words[bank]).first(counts[bank]);
        if (std::ranges::find(known, word) == known.end()) words[bank][counts[bank]++] = word;
      }
    access.taken += static_cast<int>(*std::ranges::max_element(counts));
    ++access.fewest;
  }
  return access;
}

/// bytes(invocation) is what it accesses; no value: it has nothing to do. Of the subgroups the
/// first two stand for all: the others' addresses differ from theirs by whole rows or blocks.
template <typename BytesOf>
Access worst(const Variant& v, Access (*cost)(SubgroupBytes), const BytesOf& bytes) {
  const int lanes = v.subgroup_size > 0 ? v.subgroup_size : kUsualSubgroup;
  Access most;
  for (int first = 0; first < std::min(2 * lanes, local_size(v)); first += lanes) {
    std::vector<Bytes> accessed;
    accessed.reserve(static_cast<std::size_t>(lanes));
    for (int self = first; self < std::min(first + lanes, local_size(v)); ++self)
      if (const std::optional<Bytes> own = bytes(self)) accessed.push_back(*own);
    if (accessed.empty()) break;
    const Access access = cost(accessed);
    if (most.fewest == 0 || access.excess() > most.excess()) most = access;
  }
  return most;
}

/// The first elements of an invocation's block of C, of its steps of k, and its matrix of a batch.
struct Lane {
  int row, column, step = 0, matrix = 0;
};

/// main() of templates/vector.comp, and lane_position() of templates/common/raster.glsl; broadcast
/// kernels have one row of lanes.
Lane lane_of(const Variant& v, const Signature& s, int self) {
  const int lanes_m = v.tile_m / v.reg_m, lanes_n = v.tile_n / v.reg_n, lanes = lanes_m * lanes_n;
  const bool vector = v.family == Family::kVector, along_k = vector && k_fastest(v, s),
             by_columns = v.raster == Raster::kColumn && !vector;
  const int lane = along_k ? self / lanes_k(v) : self % lanes,
            other = along_k ? self % lanes_k(v) : self / lanes;  // lane along k, or matrix
  const int y = by_columns ? lane % lanes_m : lane / lanes_n,
            x = by_columns ? lane / lanes_m : lane % lanes_n,
            width = v.family == Family::kNaive ? 1 : vector_width_c(v, s);
  return {y * v.reg_m, x * width, vector ? other * v.unroll_k : 0, vector ? 0 : other};
}

/// lane_in_tile() of templates/tiled.comp: without blocks the tile is one.
Lane lane_in_tile(const Variant& v, int self) {
  const bool subgroups = has_subgroup_tiles(v), blocks = lanes_in_blocks(v);
  const int lanes_m = v.tile_m / v.reg_m, lanes_n = v.tile_n / v.reg_n;
  const int block_m = subgroups ? v.subgroup_m / v.reg_m
                      : blocks  ? 4
                                : lanes_m,
            block_n = subgroups ? v.subgroup_n / v.reg_n
                      : blocks  ? 8
                                : lanes_n;
  const int in_block = self % (block_m * block_n), block = self / (block_m * block_n),
            row = block / (lanes_n / block_n), column = block % (lanes_n / block_n);
  return {row * (subgroups ? v.subgroup_m : 4 * block_m) + in_block / block_n * 4,
          column * (subgroups ? v.subgroup_n : 4 * block_n) + in_block % block_n * 4};
}

/// Where an invocation's first load begins: a row of A or a column of B, and a step of k.
struct Position {
  int row, step;
};

class Accesses {
 public:
  Accesses(const Variant& v, const Signature& s, Operand operand)
      : v_(v),
        s_(s),
        is_a_(operand == Operand::kA),
        packed_((is_a_ ? v.packed_a : v.packed_b) == Packed::kYes),
        quantized_(!is_a_ && reads_quantized(v, s)),
        along_k_(is_a_ == ((is_a_ ? s.trans_a : s.trans_b) == Transpose::kNo)),
        matrix_(v.family == Family::kMatrix),
        staged_(is_a_ ? staged_a(v) && (nests_k_loop(v) || shares_a(v))
                      : staged_b(v) && nests_k_loop(v)),
        by_rows_(matrix_ && (along_k_ || v.stage != Stage::kStored)),
        rows_(is_a_ ? v.tile_m : v.tile_n),
        loaded_elements_(quantized_ ? load_values(v, s.types)
                                    : (is_a_ ? load_width_a(v, s) : load_width_b(v, s)) *
                                          (matrix_ ? elements_per_word(v, s.types) : 1)),
        elements_(splits(v, s.types, operand)
                      ? shared_words(v, s.types) * elements_per_unit_word(s.types)
                      : loaded_elements_),
        int8_(multiplies_int8(v, s.types) && staged_),
        stored_bytes_(
            bytes_of(matrix_ ? s.types.a : type_read(v, s, packed_ ? Packed::kYes : Packed::kNo))),
        shared_bytes_(int8_ ? 1 : bytes_of(matrix_ ? unit_type(s.types) : sum_type(s.types))) {}

  Access lines() const {
    if (!staged_ && matrix_) return {};
    return worst(v_, lines_of, [&](int self) { return loaded(self); });
  }
  SharedAccess shared() const {
    SharedAccess access;
    if (!staged_) return access;
    access.stores = worst(v_, wavefronts_of, [&](int self) { return stored(self); });
    access.loads = matrix_ ? wavefronts_of(fragment())
                           : worst(v_, wavefronts_of, [&](int self) { return used(self); });
    return access;
  }

  /// Bytes of shared memory for a multiply-add.
  double shared_bytes() const {
    const int uses =
        is_a_ ? (matrix_ ? v_.subgroup_n : v_.reg_n) : (matrix_ ? v_.subgroup_m : v_.reg_m);
    const std::int64_t bytes =
        matrix_ ? unit_bytes(s_.types, is_a_ ? Operand::kA : Operand::kB) : shared_bytes_;
    return staged_ ? static_cast<double>(bytes) / (uses * v_.dot) : 0;
  }

 private:
  /// load_position() of templates/tiled.comp and of templates/matrix/shared_memory.glsl, there
  /// with row_position(), as their tiles call them; a_load() of templates/fragment/a_shared.glsl.
  std::optional<Position> position(int self) const {
    if (!staged_) {
      const Lane at = lane_of(v_, s_, self);
      return Position{is_a_ ? at.row : at.column, at.step};
    }
    const bool tiled = v_.family == Family::kTiled, transposed = by_rows_ && !along_k_;
    const int lines = along_k_     ? rows_
                      : transposed ? rows_ / elements_
                                   : v_.tile_k,
              width = transposed ? transposed_steps() : elements_,
              vectors = (along_k_ || transposed ? v_.tile_k : rows_) / width;
    const bool in_pairs = tiled && along_k_ && vectors % 2 == 0 &&
                          (quantized_ ? !has_block_format(s_.types) : width == 4 && !int8_);
    const int run = in_pairs ? 2 : tiled && int8_ && is_a_ ? std::min(vectors, 8) : vectors;
    if (!tiled && self >= run * lines) return {};
    const int x = (self % run + self / (run * lines) * run) * width, y = self / run % lines;
    if (transposed) return Position{y * elements_, x};
    if (!along_k_) return Position{x, y};
    const auto [together, step] = is_a_ ? store_rows_a(v_, s_) : store_rows_b(v_, s_);
    const int i = y % (together * step);
    return Position{y - i + i % together * step + i / together, x};
  }

  /// $A_STEPS of templates/matrix/staged.glsl.
  int transposed_steps() const {
    const int word = elements_per_unit_word(s_.types), vector = shared_words(v_, s_.types) * word;
    const bool fills =
        v_.tile_k % vector == 0 && rows_ / elements_ * (v_.tile_k / vector) >= local_size(v_);
    return fills ? vector : word;
  }

  std::optional<Bytes> loaded(int self) const {
    const std::int64_t count =
        quantized_ ? kElementBytes * words_width(v_, s_.types) : stored_bytes_ * loaded_elements_;
    if (packed_ && is_a_ && v_.stage == Stage::kSubgroup) return Bytes{self * count, count};
    const std::optional<Position> at = position(self);
    if (!at) return {};
    const auto [row, step] = *at;
    if (packed_) return Bytes{row * (is_a_ ? v_.unroll_k : 1) * stored_bytes_, count};
    const std::int64_t matrix = v_.tile_batch > 1 ? lane_of(v_, s_, self).matrix * kMatrixBytes : 0;
    // As if a block's values and scales lay evenly in it.
    if (quantized_) return Bytes{matrix + row * kRowBytes + bytes_of_b(s_.types, step), count};
    return Bytes{
        matrix + (along_k_ ? row : step) * kRowBytes + (along_k_ ? step : row) * stored_bytes_,
        count};
  }

  /// Bytes of the tile from a row and a step on.
  Bytes in_tile(int row, int step, std::int64_t count) const {
    const std::int64_t pad = v_.shared_pad;
    if (int8_ && v_.family == Family::kTiled) {  // a word of four steps for each row
      constexpr int kWord = 4;
      return {(step / kWord * (rows_ + pad) + row) * kWord, count * kWord};
    }
    if (shares_a(v_)) {
      const int stride = vectors_of_lane(v_, s_.types) * shared_vector_of_a(v_, s_.types);
      return {
          ((row * lanes_k(v_) + step / v_.unroll_k) * stride + step % v_.unroll_k) * shared_bytes_,
          count};
    }
    return {
        (by_rows_ ? row * (v_.tile_k + pad) + step : step * (rows_ + pad) + row) * shared_bytes_,
        count};
  }

  /// Compilers join the words and components that an invocation stores side by side.
  std::optional<Bytes> stored(int self) const {
    const std::optional<Position> at = position(self);
    if (!at) return {};
    const int vector = elements_per_unit_word(s_.types) * shared_words(v_, s_.types);
    const int elements = !matrix_                ? (along_k_ && !shares_a(v_) ? 1 : elements_)
                         : by_rows_ && !along_k_ ? transposed_steps()
                                                 : std::min(elements_, vector);
    return in_tile(at->row, at->step, elements * shared_bytes_);
  }

  /// What an invocation multiplies first.
  std::optional<Bytes> used(int self) const {
    if (shares_a(v_))
      return in_tile(0, lane_of(v_, s_, self).step,
                     shared_vector_of_a(v_, s_.types) * shared_bytes_);
    const Lane at = lane_in_tile(v_, self);
    return in_tile(is_a_ ? at.row : at.column, 0, 4 * shared_bytes_);
  }

  /// The first vectors of the rows of a fragment, as they lie in the tile.
  std::vector<Bytes> fragment() const {
    const int rows = !by_rows_ ? v_.matrix_k : is_a_ ? v_.matrix_m : v_.matrix_n;
    std::vector<Bytes> vectors;
    for (int i = 0; i < rows; ++i)
      vectors.push_back(
          in_tile(by_rows_ ? i : 0, by_rows_ ? 0 : i, kElementBytes * shared_words(v_, s_.types)));
    return vectors;
  }

  const Variant& v_;
  const Signature& s_;
  const bool is_a_, packed_, quantized_, along_k_, matrix_;
  const bool staged_;          // in shared memory
  const bool by_rows_;         // there, in a matrix kernel: a row has all steps of k
  const int rows_;             // of the tile
  const int loaded_elements_;  // by one load
  const int elements_;         // that an invocation takes together: some loads of operands in parts
  const bool int8_;            // and there in 8-bit integers
  const std::int64_t stored_bytes_, shared_bytes_;  // of an element
};

}  // namespace

MemoryAccess memory_access(const Variant& v, const Signature& s) {
  const Accesses a(v, s, Operand::kA), b(v, s, Operand::kB);
  return {{a.shared(), a.lines()}, {b.shared(), b.lines()}, a.shared_bytes() + b.shared_bytes()};
}

SharedAccess shared_access(const Variant& v, const Signature& s, Operand operand) {
  return Accesses(v, s, operand).shared();
}

}  // namespace rooftile
