// Operands of timed runs: several sets of random matrices in rotation, canaries behind each C, and
// a spot check of the results.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/groups.h"
#include "core/numbers/random.h"
#include "runtime/kernel/kernel.h"
#include "runtime/verify/random_operand.h"
#include "runtime/verify/reference.h"

namespace rooftile {

/// A run of a worker ends after this time. The parent's watchdog is shorter; this one only ends an
/// abandoned worker.
inline constexpr double kWorkerTimeoutNs = 60e9;
/// Submits the steps, if there are any, and waits. Errors: those of Device.
void run_steps(Device& device, std::span<const Step> steps);

/// Number of sets of a staged problem's operands that are rotated over.
std::size_t operand_sets(const Problem& staged, double rotate_bytes);
/// Bytes of all these sets of a problem, which need not be staged.
double operand_bytes(const Problem& problem, double rotate_bytes);

/// Sets of operands of one staged problem. Not thread-safe. Errors: those of Device.
class TimedOperands {
 public:
  /// unified: whether the host works in the buffers of kernels; empty: as the profile says.
  explicit TimedOperands(std::shared_ptr<Device> device, std::optional<bool> unified = {});
  ~TimedOperands();

  /// Makes the sets of a problem, or takes those of an earlier call. Where a device has memory of
  /// its own, those of several problems are kept, because a run comes back to each of its problems.
  void prepare(const Problem& staged, double rotate_bytes);
  void clear();
  void drop();  ///< The sets of the last call.
  /// Drops what is kept of other problems. Returns false where that is nothing.
  bool drop_others();
  std::size_t sets() const { return made_.sets.size(); }
  /// Operands of the set that has the given turn, for a kernel with this variant.
  Operands operands(std::size_t turn, const Placement& placement, const Variant& variant);
  /// Tiles of such a kernel in the groups of a grouped problem, which have typical sizes.
  std::int64_t group_tiles(const Variant& variant);

  /// Says what a kernel wrote behind a C, after which the canaries are whole again; empty: nothing.
  std::string written_behind_c();
  /// Overwrites the elements of C that spot_check() compares, outside the timed steps: an earlier
  /// kernel may have left the right values there, and with beta the expected ones depend on them.
  void overwrite_spots(std::size_t turn) const { run_steps(*device_, overwriting_spots(turn)); }
  /// The steps that do so on discrete memory; elsewhere it has happened.
  std::vector<Step> overwriting_spots(std::size_t turn) const;
  /// Compares some elements of C with float64; empty: they are right.
  std::string spot_check(std::size_t turn);
  /// What written_behind_c() says, or else spot_check(), after one submission for both.
  std::string check(std::size_t turn);

 private:
  struct Set;
  /// A set with the content, or a copy of another set, which the device makes where it has memory
  /// of its own. Where the copies lie decides what caches hold.
  std::unique_ptr<Set> make_set(const Set* other) const;
  enum class Direction : std::uint8_t { kToDevice, kToHost };
  /// Copies of the canaries of all sets; none on unified memory.
  std::vector<Step> guard_copies(Direction direction) const;
  void set_canaries();
  void expect();  ///< Computes what is expected at the spots.
  std::string seen_behind_c();
  std::string seen_at_spots(std::size_t turn);
  /// Copies of the elements that spot_check() compares, between a set's C and what the host sees.
  std::vector<Step> spot_copies(const Set& set, Direction direction) const;
  unsigned char* seen_spots(const Set& set) const;  ///< Where those lie; not on unified memory.
  Buffer buffer_of(const std::vector<char>& content) const;  ///< No buffer for empty content.
  const Set& set(std::size_t turn) const { return *made_.sets[turn % made_.sets.size()]; }
  struct TileList {
    std::int64_t tiles = 0;
    Buffer list = {};
  };
  const TileList& tile_list(const Variant& variant);

  /// What all sets hold. a and b are empty on unified memory, where the sets are read themselves.
  struct Content {
    std::vector<char> a, b;
    RandomQuantization quantization;
  };
  struct Made {
    Problem problem;
    Content content;
    std::vector<std::unique_ptr<Set>> sets;
    std::vector<ReferenceElement> expected;  ///< At the spots.
    std::vector<Group> groups;               ///< Of a grouped problem.
    std::map<int, TileList> tile_lists;      ///< By the rows of a tile.

    double bytes = 0;  ///< Of all sets.
  };
  void make(const Problem& staged, double rotate_bytes);
  /// Drops those used longest ago until there is room for so many bytes more.
  void make_room(double more_bytes);

  std::shared_ptr<Device> device_;
  bool unified_;
  Made made_;                 ///< Of the last call of prepare().
  std::vector<Made> others_;  ///< Of earlier ones, the last used last; none on unified memory.
};

}  // namespace rooftile
