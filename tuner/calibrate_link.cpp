#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/clock.h"
#include "core/error.h"
#include "tuner/calibrator.h"

namespace rooftile {
namespace {

constexpr std::uint64_t kBytes = 1u << 24;

enum class Direction : std::uint8_t { kUp, kDown };

template <typename Move>
std::vector<double> move_gbps(const Move& move) {
  std::vector<double> gbps;
  for (int i = -1; i < kProbeSamples; ++i) {
    const double start = now_ns();
    move();
    if (i >= 0) gbps.push_back(static_cast<double>(kBytes) / (now_ns() - start));
  }
  return gbps;
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
  const Buffer device_side = device_.create_buffer(kBytes, BufferUse::kDevice);
  std::vector<char> host(kBytes, 1);
  const auto moved = [&](BufferUse use, Direction direction) {
    const Buffer staging = unified ? Buffer() : device_.create_buffer(kBytes, use);
    void* const view = unified ? device_side.mapped() : staging.mapped();
    return move_gbps([&] {
      if (direction == Direction::kUp) {
        std::memcpy(view, host.data(), kBytes);
        if (!unified) copy(device_, staging, device_side);
      } else {
        if (!unified) copy(device_, device_side, staging);
        std::memcpy(host.data(), view, kBytes);
      }
    });
  };
  add("device.upload", "gbps", moved(BufferUse::kUpload, Direction::kUp));
  add("device.download", "gbps", moved(BufferUse::kDownload, Direction::kDown));
}

// Without staging: the host's own memory becomes a buffer, which the device copies from and to, or
// reads where it is. Importing is counted, for every call brings other memory.
void Calibrator::imports() {
  const std::uint64_t alignment = limits_.host_import_alignment_bytes;
  if (alignment == 0 || kBytes % alignment != 0) return;
  const std::unique_ptr<void, decltype(&std::free)> host(std::aligned_alloc(alignment, kBytes),
                                                         &std::free);
  if (host == nullptr) fail(ErrorCode::kOutOfMemory, "no {} bytes for the host link", kBytes);
  std::memset(host.get(), 0, kBytes);
  try {
    std::vector<double> import_ns;
    for (int i = -1; i < kProbeSamples; ++i) {
      const double start = now_ns();
      { const Buffer imported = device_.import_host(host.get(), kBytes); }
      if (i >= 0) import_ns.push_back(now_ns() - start);
    }
    add("device.import", "ns", import_ns);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    return;  // the driver offers it, but not for this memory
  }
  const Buffer device_side = device_.create_buffer(kBytes, BufferUse::kDevice);
  add("device.import.upload", "gbps",
      move_gbps([&] { copy(device_, device_.import_host(host.get(), kBytes), device_side); }));
  add("device.import.download", "gbps",
      move_gbps([&] { copy(device_, device_side, device_.import_host(host.get(), kBytes)); }));
  const std::uint32_t groups = many_groups(best_local_size_) / 16;
  const Buffer sums = device_.create_buffer(
      std::uint64_t{16} * groups * static_cast<std::uint64_t>(best_local_size_),
      BufferUse::kDevice);
  Probe probe(device_, emit_read(LoadPath::kBuffer, best_local_size_));
  const Buffer imported = device_.import_host(host.get(), kBytes);
  add("device.import.read", "gbps",
      rates(static_cast<double>(kBytes),
            probe.times({{&imported}, {&sums}}, ReadPushConstants{kBytes / 16, 1}, groups)));
}

}  // namespace rooftile
