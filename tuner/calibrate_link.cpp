#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/clock.h"
#include "core/error.h"
#include "tuner/calibrator.h"

namespace rooftile {
namespace {

constexpr std::uint64_t kBytes = 1u << 24;

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

// As the runtime moves operands: memcpy into mapped memory, and a copy on the device where that is
// not the kernels' own.
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
           std::memcpy(up.mapped(), host->data(), kBytes);
           if (!unified) copy(device_, up, device_side);
         }));
  sample("device.download", "gbps", gbps_of([this, unified, host, &down, &device_side] {
           if (!unified) copy(device_, device_side, down);
           std::memcpy(host->data(), down.mapped(), kBytes);
         }));
}

// Without staging: the host's own memory becomes a buffer, which the device copies from and to, or
// reads where it is. Importing is counted, for every call brings other memory.
void Calibrator::imports() {
  const std::uint64_t alignment = limits_.host_import_alignment_bytes;
  if (alignment == 0 || kBytes % alignment != 0) return;
  const auto host_memory = [&] {
    void* const memory =
        host_memory_.emplace_back(std::aligned_alloc(alignment, kBytes), &std::free).get();
    if (memory == nullptr) fail(ErrorCode::kOutOfMemory, "no {} bytes for the host link", kBytes);
    return std::memset(memory, 0, kBytes);
  };
  const auto import_host = [this, host = host_memory()] {
    return device_.import_host(host, kBytes);
  };
  try {
    // Memory of its own: whether some may be imported twice at once is the driver's choice.
    buffers_.push_back(device_.import_host(host_memory(), kBytes));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    return;  // the driver offers it, but not for this memory
  }
  const Buffer& imported = buffers_.back();
  const Buffer& device_side = buffer(kBytes);
  sample("device.import", "ns",
         [import_host] { return timed_ns([&] { const Buffer once = import_host(); }); });
  sample("device.import.upload", "gbps",
         gbps_of([this, import_host, &device_side] { copy(device_, import_host(), device_side); }));
  sample("device.import.download", "gbps",
         gbps_of([this, import_host, &device_side] { copy(device_, device_side, import_host()); }));
  const std::uint32_t groups = many_groups(best_local_size_) / 16;
  const Buffer& sums =
      buffer(std::uint64_t{16} * groups * static_cast<std::uint64_t>(best_local_size_));
  TimedDispatch& read = dispatch(probe(emit_read(LoadPath::kBuffer, best_local_size_)),
                                 {{&imported}, {&sums}}, ReadPushConstants{kBytes / 16, 1}, groups);
  sample("device.import.read", "gbps", [&read] {
    const Reading reading = read.take();
    return Turn{static_cast<double>(kBytes) / reading.kernel_ns, reading.busy_share};
  });
}

}  // namespace rooftile
