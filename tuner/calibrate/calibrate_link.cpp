#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "core/clock.h"
#include "core/error.h"
#include "runtime/resident/resident.h"
#include "runtime/support/copy_bytes.h"
#include "tuner/calibrate/calibrator.h"

namespace rooftile {
namespace {

constexpr std::uint64_t kBytes = 1u << 24;
// Duration and number of fetches of one sample.
constexpr double kFetchesNs = 20e3, kMostFetches = 1000;

template <typename Move>
Turn timed_ns(const Move& move) {
  const double start = now_ns();
  move();
  return {.value = now_ns() - start};
}

template <typename Move>
std::function<Turn()> gbps_of(Move move) {
  return [move] { return Turn{static_cast<double>(kBytes) / timed_ns(move).value}; };
}

void copy(Device& device, const Buffer& source, const Buffer& target) {
  CommandList list =
      device.record(std::vector<Step>{CopyStep{{&source, 0, kBytes}, {&target, 0, kBytes}}});
  device.run(list, kProbeTimeoutNs);
}

}  // namespace

// Transfers as the runtime makes them: copies by several threads into mapped memory, and a copy on
// the device where kernels do not use that memory directly.
void Calibrator::transfers() {
  const bool unified = device_.profile().unified_memory;
  const Buffer& device_side = buffer(kBytes);
  const auto host = std::make_shared<std::vector<char>>(kBytes, 1);
  const auto staging = [&](BufferUse use) -> const Buffer& {
    return unified ? device_side : buffers_.emplace_back(device_.create_buffer(kBytes, use));
  };
  const Buffer& up = staging(BufferUse::kUpload);
  const Buffer& down = staging(BufferUse::kDownload);
  sample("device.upload", "gbps", gbps_of([this, unified, host, &up, &device_side] {
           copy_bytes(host->data(), up.mapped(), kBytes);
           if (!unified) copy(device_, up, device_side);
         }));
  sample("device.download", "gbps", gbps_of([this, unified, host, &down, &device_side] {
           if (!unified) copy(device_, device_side, down);
           copy_bytes(down.mapped(), host->data(), kBytes);
         }));
}

// Fetches as programs make them for device-resident data: a plain copy where the host maps the
// device's memory, else a submission. The data is so small that its size does not matter, and short
// fetches are timed in groups.
void Calibrator::fetch() {
  constexpr std::size_t kFewBytes = 16;
  const auto resident = std::make_shared<Resident>(shared_device_, nullptr, KernelHashes{},
                                                   std::make_shared<KernelCache>(""), nullptr);
  const std::shared_ptr<DeviceMemory> memory = resident->create_memory(kFewBytes);
  const auto fetches_ns = [resident, memory](int calls) {
    std::array<char, kFewBytes> host;
    return timed_ns([&] {
             for (int call = 0; call < calls; ++call)
               resident->download(memory, 0, host.data(), kFewBytes);
           })
        .value;
  };
  sample("device.fetch", "ns", [fetches_ns] {
    const double once = std::max(1.0, fetches_ns(1));
    const int calls = static_cast<int>(std::clamp(kFetchesNs / once, 1.0, kMostFetches));
    return Turn{fetches_ns(calls) / calls};
  });
}

// Transfers without staging: the host's own memory becomes a buffer that the device copies from and
// to, or that kernels use in place. The time of importing counts, because every call brings other
// memory.
void Calibrator::imports() {
  const std::uint64_t alignment = limits_.host_import_alignment_bytes;
  if (alignment == 0 || kBytes % alignment != 0) return;
  const auto host_memory = [&] {
    void* const memory =
        host_memory_.emplace_back(std::aligned_alloc(alignment, kBytes), &std::free).get();
    if (memory == nullptr) fail(ErrorCode::kOutOfMemory, "no {} bytes for the host link", kBytes);
    return std::memset(memory, 0, kBytes);
  };
  const auto import_host = [this, host = host_memory()](std::uint64_t bytes) {
    return device_.import_host(host, bytes);
  };
  try {
    // Uses separate memory, because a driver need not support importing the same memory twice at
    // once.
    buffers_.push_back(device_.import_host(host_memory(), kBytes));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    return;  // The driver supports imports, but not of this memory.
  }
  const Buffer& imported = buffers_.back();
  const Buffer& device_side = buffer(kBytes);
  const auto import_ns = [import_host](std::uint64_t bytes) {
    return timed_ns([&] { const Buffer once = import_host(bytes); });
  };
  sample("device.import.least", "ns", [import_ns, alignment] { return import_ns(alignment); });
  sample_difference("device.import.growth", [import_ns, alignment] {
    return Turn{(import_ns(kBytes).value - import_ns(alignment).value) /
                static_cast<double>(kBytes - alignment)};
  });
  sample("device.import.upload", "gbps", gbps_of([this, import_host, &device_side] {
           copy(device_, import_host(kBytes), device_side);
         }));
  sample("device.import.download", "gbps", gbps_of([this, import_host, &device_side] {
           copy(device_, device_side, import_host(kBytes));
         }));
  use_in_place(imported, device_side);
}

// Kernels that read, and that write, imported memory and the device's own, in turns: the additional
// cost of a byte of imported memory.
void Calibrator::use_in_place(const Buffer& imported, const Buffer& own) {
  constexpr std::uint32_t kVectors = kBytes / 16;
  const std::uint32_t groups = many_groups(best_local_size_) / 16;
  const Buffer& other = buffer(kBytes);  // Sums, and the copied data.
  Probe& read = probe(emit_read(LoadPath::kBuffer, best_local_size_));
  Probe& write = probe(emit_stream(Stream::kCopy, LoadPath::kBuffer, best_local_size_));
  const auto read_from = [&](const Buffer& from) -> TimedDispatch& {
    return dispatch(read, {{&from}, {&other}}, ReadPushConstants{kVectors, 1}, groups);
  };
  const auto write_to = [&](const Buffer& to) -> TimedDispatch& {
    return dispatch(write, {{&other}, {&other}, {&to}}, StreamPushConstants{kVectors, 1, 1.0f},
                    groups);
  };
  TimedDispatch &reads_imported = read_from(imported), &reads_own = read_from(own),
                &writes_imported = write_to(imported), &writes_own = write_to(own);
  sample("device.import.read", "gbps", [&reads_imported] {
    const Reading reading = reads_imported.take();
    return Turn{static_cast<double>(kBytes) / reading.kernel_ns, reading.busy_share};
  });
  const auto extra = [](TimedDispatch& there, TimedDispatch& here) {
    return [&there, &here] {
      const Reading dear = there.take(), cheap = here.take();
      return Turn{(dear.kernel_ns - cheap.kernel_ns) / static_cast<double>(kBytes),
                  std::max(dear.busy_share, cheap.busy_share)};
    };
  };
  sample_difference("device.import.read.extra", extra(reads_imported, reads_own));
  sample_difference("device.import.write.extra", extra(writes_imported, writes_own));
}

// A kernel that keeps all units busy, host copies that take about as long, and both at once.
// Kernels that run on the host's processors take these from the copies.
void Calibrator::overlap() {
  Probe& kernel = probe(emit_fma(DataType::kF32, best_local_size_, best_chains_));
  const std::vector<BufferRange> target = {{&buffer(262144 * sizeof(float))}};
  const std::uint32_t groups = many_groups(best_local_size_) / 8;
  const auto push = [](std::uint32_t trips) { return FmaPushConstants{trips, 0.5f, 1.0f}; };
  const std::uint32_t trips = trips_of(kernel, target, groups, push);
  CommandList& list = lists_.emplace_back(
      device_.record(std::vector<Step>{DispatchStep{.pipeline = &kernel.pipeline(),
                                                    .bindings = target,
                                                    .push_constants = bytes_of_block(push(trips)),
                                                    .groups = {groups, 1, 1}}}));
  const auto from = std::make_shared<std::vector<char>>(kBytes, 1),
             to = std::make_shared<std::vector<char>>(kBytes, 0);
  const auto copies_ns = [from, to](int times) {
    return timed_ns([&] {
             for (int i = 0; i < times; ++i) copy_bytes(from->data(), to->data(), kBytes);
           })
        .value;
  };
  const double kernel_ns = device_.run(list, kProbeTimeoutNs).wall_ns;
  const int times = std::max(1, static_cast<int>(std::lround(kernel_ns / copies_ns(1))));
  sample("device.overlap", "share", [this, &list, copies_ns, times] {
    const double alone_ns = device_.run(list, kProbeTimeoutNs).wall_ns,
                 copied_ns = copies_ns(times);
    const double both_ns = timed_ns([&] {
                             CommandList* const lists[] = {&list};
                             const Submission submission = device_.submit(lists);
                             copies_ns(times);
                             if (submission.wait(kProbeTimeoutNs)) return;
                             device_.give_up();
                             fail(ErrorCode::kTimeout, "a calibration kernel does not end on {}",
                                  device_.profile().name);
                           }).value;
    return Turn{
        std::clamp((alone_ns + copied_ns - both_ns) / std::min(alone_ns, copied_ns), 0.0, 1.0)};
  });
}

}  // namespace rooftile
