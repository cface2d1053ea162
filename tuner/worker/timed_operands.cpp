#include "tuner/worker/timed_operands.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "core/error.h"
#include "core/half.h"
#include "runtime/kernel/staging.h"
#include "runtime/verify/reference.h"

namespace rooftile {
namespace {

constexpr std::size_t kMostSets = 8;   // Limit of operand sets in rotation.
constexpr double kMostSetBytes = 1e9;  // Limit of memory in rotation.
// Limits of what is kept of other problems: of the device's memory, and of the host's, which holds
// the content of each problem's sets once.
constexpr double kKeptShare = 0.25, kMostKeptContent = 0.5e9;
constexpr int kSpotChecks = 16;
// Canaries behind C. They show after its first run that a kernel writes behind C, before it
// destroys anything else: a software device may take its memory from this process's heap. Their
// length is a row of 16384 columns, which is what a row check that is off by one writes.
constexpr std::uint64_t kGuardBytes = 64 << 10;
constexpr unsigned char kCanary = 0xa5;

/// Bytes of canaries behind C: fewer where the device binds no more, and whole vectors.
std::uint64_t guard_bytes(const Problem& staged, const DeviceLimits& limits) {
  const std::uint64_t most = largest_buffer_bytes(limits);
  const std::uint64_t bytes_c = staged_bytes(staged).c;
  return std::min(kGuardBytes, most > bytes_c ? (most - bytes_c) / 16 * 16 : 0);
}

/// An element of C that is checked.
struct Spot {
  std::int64_t row, column;
  std::int64_t matrix_a, matrix_b;  // Members of the batch; of a grouped problem 0 and the expert.
  std::int64_t element;             // Its index in C of the whole batch.
};

std::int64_t expert_of(std::span<const Group> groups, std::int64_t row) {
  for (const Group& group : groups) {
    if (row < group.rows) return group.expert;
    row -= group.rows;
  }
  return 0;
}

/// The same elements for each run of a problem.
std::vector<Spot> spots(const Problem& p, std::span<const Group> groups) {
  Random random(0xc0ffee);
  const auto below = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(limit)));
  };
  std::vector<Spot> spots;
  for (int i = 0; i < kSpotChecks; ++i) {
    // The last element of C is checked first, because edge handling is the likeliest error.
    const std::int64_t row = i == 0 ? p.m - 1 : below(p.m), column = i == 0 ? p.n - 1 : below(p.n),
                       product = i == 0 ? p.batch - 1 : below(p.batch);
    const Spot spot = {.row = row,
                       .column = column,
                       .matrix_a = product,
                       .matrix_b = is_grouped(p) ? expert_of(groups, row) : product,
                       .element = product * p.stride_c + row * p.ldc + column};
    if (std::ranges::find(spots, spot.element, &Spot::element) == spots.end())
      spots.push_back(spot);
  }
  return spots;
}

/// What the spots hold before each run. Where beta is 0 it is infinite: no sum of the operands is,
/// and a kernel that reads it gives NaN. Otherwise the results depend on it, so that it is finite,
/// and a spot's result equals it only by chance.
float value_before(const Problem& p) {
  return p.beta == 0.0f ? -std::numeric_limits<float>::infinity() : 1.0f;
}

}  // namespace

struct TimedOperands::Set {
  Buffer a, b, c;              // Buffers that kernels see.
  Buffer vectors, residual;    // Of the epilogue, if there is one; filled with ones.
  Buffer scales, zero_points;  // Of a quantised B.
  /// Mapped: what lies behind C, and then the spots in their order. Empty on unified memory, where
  /// a, b and c are mapped themselves.
  Buffer seen;

  unsigned char* guard(const Problem& p) const {
    return seen.size_bytes() > 0 ? static_cast<unsigned char*>(seen.mapped())
                                 : static_cast<unsigned char*>(c.mapped()) + staged_bytes(p).c;
  }
};

void run_steps(Device& device, std::span<const Step> steps) {
  if (steps.empty()) return;
  CommandList list = device.record(steps);
  device.run(list, kWorkerTimeoutNs);
}

std::size_t operand_sets(const Problem& staged, double rotate_bytes) {
  const StagedBytes bytes = staged_bytes(staged);
  const double set_bytes = static_cast<double>(bytes.a + bytes.b + bytes.c);
  const double wanted =
      std::min(std::ceil(rotate_bytes / set_bytes), std::floor(kMostSetBytes / set_bytes));
  return static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(kMostSets)));
}

double operand_bytes(const Problem& problem, double rotate_bytes) {
  const Problem staged = staged_problem(problem);
  const StagedBytes bytes = staged_bytes(staged);
  return static_cast<double>(operand_sets(staged, rotate_bytes) * (bytes.a + bytes.b + bytes.c));
}

TimedOperands::TimedOperands(std::shared_ptr<Device> device, std::optional<bool> unified)
    : device_(std::move(device)), unified_(unified.value_or(device_->profile().unified_memory)) {}
TimedOperands::~TimedOperands() = default;

void TimedOperands::prepare(const Problem& staged, double rotate_bytes) {
  if (made_.problem == staged && !made_.sets.empty()) return;
  if (!unified_ && !made_.sets.empty()) others_.push_back(std::move(made_));
  made_ = {};
  const auto same = std::ranges::find(others_, staged, &Made::problem);
  if (same != others_.end()) {
    made_ = std::move(*same);
    others_.erase(same);
    return;
  }
  make_room(operand_bytes(staged, rotate_bytes));
  try {
    make(staged, rotate_bytes);
  } catch (...) {
    made_ = {};  // Without canaries the next call would take sets for whole.
    throw;
  }
}

void TimedOperands::make_room(double more_bytes) {
  const double most_bytes =
      kKeptShare * static_cast<double>(device_->profile().device_memory_bytes);
  const auto too_much = [&] {
    double bytes = more_bytes, content = 0;
    for (const Made& other : others_) {
      bytes += other.bytes;
      content += static_cast<double>(other.content.a.size() + other.content.b.size());
    }
    return bytes > most_bytes || content > kMostKeptContent;
  };
  while (!others_.empty() && too_much()) others_.erase(others_.begin());
}

void TimedOperands::make(const Problem& staged, double rotate_bytes) {
  made_.problem = staged;
  made_.bytes = operand_bytes(staged, rotate_bytes);
  made_.groups = is_grouped(staged) ? typical_groups(staged) : std::vector<Group>();
  Random random(0x0b5e55ed);
  const StagedBytes bytes = staged_bytes(staged);
  const auto signed_size = [](std::uint64_t size) { return static_cast<std::int64_t>(size); };
  // The rows' padding is filled too, because no kernel may let it affect C.
  made_.content.a =
      repeated_operand(staged.types.a, signed_size(bytes.a) / bytes_of(staged.types.a), random);
  made_.content.b =
      repeated_b(staged.types, elements_of_b(staged.types, signed_size(bytes.b)), random);
  made_.content.a.resize(bytes.a);
  made_.content.b.resize(bytes.b);
  made_.content.quantization = random_quantization(staged, random);
  for (std::size_t i = 0; i < operand_sets(staged, rotate_bytes); ++i)
    made_.sets.push_back(make_set(i == 0 ? nullptr : made_.sets.front().get()));
  expect();
  if (unified_) made_.content.a = made_.content.b = {};
  set_canaries();
}

bool TimedOperands::drop_others() { return !std::exchange(others_, {}).empty(); }

void TimedOperands::drop() { made_ = {}; }

void TimedOperands::clear() {
  made_ = {};
  others_.clear();
}

const TimedOperands::TileList& TimedOperands::tile_list(const Variant& variant) {
  const auto [entry, fresh] = made_.tile_lists.try_emplace(variant.tile_m);
  if (fresh) {
    const std::vector<GroupTile> tiles = rooftile::group_tiles(made_.groups, variant.tile_m);
    entry->second.tiles = static_cast<std::int64_t>(tiles.size());
    const auto* const begin = reinterpret_cast<const char*>(tiles.data());
    entry->second.list = buffer_of({begin, begin + tiles.size() * sizeof(GroupTile)});
  }
  return entry->second;
}

std::int64_t TimedOperands::group_tiles(const Variant& variant) { return tile_list(variant).tiles; }

std::unique_ptr<TimedOperands::Set> TimedOperands::make_set(const Set* other) const {
  const Problem& p = made_.problem;
  const StagedBytes bytes = staged_bytes(p);
  const std::uint64_t bytes_guard = guard_bytes(p, device_->profile().limits);
  auto set = std::make_unique<Set>();
  const auto filled = [&](std::uint64_t size, const std::vector<char>& content,
                          const Buffer* same) {
    Buffer made = device_->create_buffer(size, BufferUse::kDevice);
    if (unified_) {
      std::memcpy(made.mapped(), same != nullptr ? same->mapped() : content.data(), size);
      return made;
    }
    Buffer staging;
    if (same == nullptr) {
      staging = device_->create_buffer(size, BufferUse::kUpload);
      std::memcpy(staging.mapped(), content.data(), size);
    }
    const std::vector<Step> steps = {
        CopyStep{{same != nullptr ? same : &staging, 0, size}, {&made, 0, size}}};
    run_steps(*device_, steps);
    return made;
  };
  set->a = filled(bytes.a, made_.content.a, other != nullptr ? &other->a : nullptr);
  set->b = filled(bytes.b, made_.content.b, other != nullptr ? &other->b : nullptr);
  set->c = device_->create_buffer(bytes.c + bytes_guard, BufferUse::kDevice);
  if (!unified_)
    set->seen =
        device_->create_buffer(bytes_guard + kSpotChecks * sizeof(double), BufferUse::kDownload);
  const EpilogueElements fused = epilogue_elements(p);
  set->vectors = buffer_of(ones(epilogue_type(p.types), fused.vectors));
  set->residual = buffer_of(ones(epilogue_type(p.types), fused.residual));
  set->scales = buffer_of(made_.content.quantization.scales);
  set->zero_points = buffer_of(made_.content.quantization.zero_points);
  return set;
}

std::vector<Step> TimedOperands::guard_copies(Direction direction) const {
  const std::uint64_t offset = staged_bytes(made_.problem).c;
  const std::uint64_t bytes = guard_bytes(made_.problem, device_->profile().limits);
  std::vector<Step> steps;
  for (const auto& set : made_.sets) {
    if (unified_ || bytes == 0) continue;
    const BufferRange kernels{&set->c, offset, bytes}, hosts{&set->seen, 0, bytes};
    steps.push_back(direction == Direction::kToDevice ? CopyStep{hosts, kernels}
                                                      : CopyStep{kernels, hosts});
  }
  return steps;
}

void TimedOperands::set_canaries() {
  const std::uint64_t bytes = guard_bytes(made_.problem, device_->profile().limits);
  for (const auto& set : made_.sets) std::memset(set->guard(made_.problem), kCanary, bytes);
  run_steps(*device_, guard_copies(Direction::kToDevice));
}

std::string TimedOperands::written_behind_c() {
  run_steps(*device_, guard_copies(Direction::kToHost));
  return seen_behind_c();
}

std::string TimedOperands::check(std::size_t turn) {
  std::vector<Step> copies = guard_copies(Direction::kToHost);
  if (!unified_)
    std::ranges::move(spot_copies(set(turn), Direction::kToHost), std::back_inserter(copies));
  run_steps(*device_, copies);
  std::string wrong = seen_behind_c();
  return wrong.empty() ? seen_at_spots(turn) : wrong;
}

std::string TimedOperands::seen_behind_c() {
  static const std::vector<unsigned char> canaries(kGuardBytes, kCanary);
  const std::uint64_t bytes = guard_bytes(made_.problem, device_->profile().limits);
  for (const auto& set : made_.sets) {
    const unsigned char* const guard = set->guard(made_.problem);
    if (std::memcmp(guard, canaries.data(), bytes) == 0) continue;
    const auto spoilt = static_cast<std::uint64_t>(
        std::find_if(guard, guard + bytes, [](unsigned char x) { return x != kCanary; }) - guard);
    const std::uint64_t element = (staged_bytes(made_.problem).c + spoilt) /
                                  static_cast<std::uint64_t>(bytes_of(made_.problem.types.c));
    set_canaries();  // the next kernel has nothing to do with it
    return fmt::format("{}: wrote outside of C, {} elements from its start",
                       to_string(made_.problem), element);
  }
  return {};
}

Buffer TimedOperands::buffer_of(const std::vector<char>& content) const {
  if (content.empty()) return {};
  const std::uint64_t bytes = (content.size() + 15) / 16 * 16;
  Buffer buffer = device_->create_buffer(bytes, BufferUse::kDevice);
  Buffer host =
      buffer.mapped() != nullptr ? Buffer() : device_->create_buffer(bytes, BufferUse::kUpload);
  std::memcpy(buffer.mapped() != nullptr ? buffer.mapped() : host.mapped(), content.data(),
              content.size());
  if (buffer.mapped() == nullptr) {
    const std::vector<Step> steps = {CopyStep{{&host, 0, bytes}, {&buffer, 0, bytes}}};
    run_steps(*device_, steps);
  }
  return buffer;
}

std::vector<Step> TimedOperands::spot_copies(const Set& set, Direction direction) const {
  const auto bytes = static_cast<std::uint64_t>(bytes_of(made_.problem.types.c));
  std::uint64_t seen = guard_bytes(made_.problem, device_->profile().limits);
  std::vector<Step> steps;
  for (const Spot& spot : spots(made_.problem, made_.groups)) {
    const BufferRange kernels{&set.c, static_cast<std::uint64_t>(spot.element) * bytes, bytes},
        hosts{&set.seen, seen, bytes};
    steps.push_back(direction == Direction::kToDevice ? CopyStep{hosts, kernels}
                                                      : CopyStep{kernels, hosts});
    seen += bytes;
  }
  return steps;
}

unsigned char* TimedOperands::seen_spots(const Set& set) const {
  return set.guard(made_.problem) + guard_bytes(made_.problem, device_->profile().limits);
}

std::vector<Step> TimedOperands::overwriting_spots(std::size_t turn) const {
  const Problem& p = made_.problem;
  const Set& set = this->set(turn);
  const float before = value_before(p);
  const auto bytes = static_cast<std::uint64_t>(bytes_of(p.types.c));
  if (unified_) {
    for (const Spot& spot : spots(p, made_.groups))
      narrow(p.types.c, &before,
             static_cast<char*>(set.c.mapped()) + static_cast<std::uint64_t>(spot.element) * bytes,
             1);
    return {};
  }
  std::vector<Step> copies = spot_copies(set, Direction::kToDevice);
  for (std::size_t i = 0; i < copies.size(); ++i)
    narrow(p.types.c, &before, seen_spots(set) + i * bytes, 1);
  return copies;
}

std::string TimedOperands::spot_check(std::size_t turn) {
  if (!unified_) run_steps(*device_, spot_copies(set(turn), Direction::kToHost));
  return seen_at_spots(turn);
}

void TimedOperands::expect() {
  const Problem& p = made_.problem;
  const auto behind = [](const void* operand, std::int64_t bytes) {
    return static_cast<const char*>(operand) + bytes;
  };
  const Problem one = one_product(p);
  const QuantizedBytes parts = quantized_bytes(one);
  for (const Spot& spot : spots(p, made_.groups)) {
    const std::int64_t expert = is_grouped(p) ? spot.matrix_b : 0;
    made_.expected.push_back(reference_element(
        one,
        {behind(made_.content.a.data(), spot.matrix_a * p.stride_a * bytes_of(p.types.a)),
         behind(made_.content.b.data(), bytes_of_b(p.types, spot.matrix_b * p.stride_b)),
         behind(made_.content.quantization.scales.data(), expert * parts.scales),
         behind(made_.content.quantization.zero_points.data(), expert * parts.zero_points)},
        double{value_before(p)}, {.row_scale = 1, .column_scale = 1, .bias = 1, .residual = 1},
        spot.row, spot.column));
  }
}

std::string TimedOperands::seen_at_spots(std::size_t turn) {
  const Problem& p = made_.problem;
  const Set& set = this->set(turn);
  const void* const c = unified_ ? set.c.mapped() : seen_spots(set);
  std::size_t at = 0;
  for (const Spot& spot : spots(p, made_.groups)) {
    const ReferenceElement& expected = made_.expected[at];
    // On discrete memory the spots lie side by side.
    const double got =
        element(p.types.c, c, unified_ ? spot.element : static_cast<std::int64_t>(at));
    ++at;
    if (!(error_ratio(p, expected, got) <= 1.0))
      return fmt::format("{}: C[{}][{}] is {}, expected {}", to_string(p), spot.row, spot.column,
                         got, expected.value);
  }
  return {};
}

Operands TimedOperands::operands(std::size_t turn, const Placement& placement,
                                 const Variant& variant) {
  const Set& set = this->set(turn);
  const auto or_null = [](const Buffer& x) { return x.size_bytes() > 0 ? &x : nullptr; };
  return {&set.a,
          &set.b,
          &set.c,
          placement,
          or_null(set.vectors),
          or_null(set.residual),
          or_null(set.scales),
          or_null(set.zero_points),
          is_grouped(made_.problem) ? &tile_list(variant).list : nullptr};
}

}  // namespace rooftile
