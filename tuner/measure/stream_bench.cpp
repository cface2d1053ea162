#include "tuner/measure/stream_bench.h"

#include <algorithm>

namespace rooftile {
namespace {

constexpr std::uint64_t kVectorBytes = 16;
constexpr std::uint64_t kPage = 4096;
// Gap from the end of an array to the next. If arrays start at the same offset within their pages,
// stores delay the loads behind them on many processors. The gap is a multiple of every alignment
// that Vulkan allows a device to require.
constexpr std::uint64_t kSkew = 1280;
constexpr std::uint64_t kMovedBytes = 1u << 24;  // Minimum moved by a sample, in several passes.
constexpr double kEnoughNs = 0.5e6;  // Passes are added until the sample is as long as this.
constexpr std::uint32_t kInvocations = 262144;  // Limit that is enough for every device.
// Number of invocations that only read: the sums that they write stay below one sixteenth of the
// traffic.
constexpr std::uint32_t kReaders = kInvocations / 16;

}  // namespace

StreamBench::StreamBench(Device& device, std::uint64_t largest, int local_size)
    : device_(device),
      local_size_(local_size),
      pool_(device.create_buffer(largest + 3 * kSkew, BufferUse::kDevice)),
      sums_(device.create_buffer(kVectorBytes * kInvocations, BufferUse::kDevice)) {}

std::optional<StreamRun> StreamBench::stream(Stream kernel, LoadPath load_path,
                                             std::uint64_t footprint) {
  const int arrays = arrays_moved(kernel);
  const std::uint64_t bytes = footprint / static_cast<std::uint64_t>(arrays) / kPage * kPage;
  // c is not a texel buffer.
  if (!fits(load_path, bytes) || !fits(LoadPath::kBuffer, bytes)) return {};
  auto& probe = probes_[{static_cast<int>(kernel), load_path}];
  if (!probe) probe.emplace(device_, emit_stream(kernel, load_path, local_size_));
  const auto slice = [&](std::uint64_t i) {
    return BufferRange{&pool_, i * (bytes + kSkew), bytes};
  };
  const auto elements = static_cast<std::uint32_t>(bytes / kVectorBytes);
  // Where there are two arrays, the third binding is not read.
  return run(*probe, {slice(0), slice(arrays == 3 ? 1 : 0), slice(arrays == 3 ? 2 : 1)},
             groups(elements, kInvocations), bytes * static_cast<std::uint64_t>(arrays),
             [&](std::uint32_t passes) {
               return StreamPushConstants{elements, passes, 3.0f};
             });
}

std::optional<StreamRun> StreamBench::read(LoadPath load_path, ReadOrder order,
                                           std::uint64_t footprint) {
  if (!fits(load_path, footprint)) return {};
  auto& probe = probes_[{-1 - static_cast<int>(order), load_path}];
  if (!probe) probe.emplace(device_, emit_read(load_path, local_size_, order));
  const auto elements = static_cast<std::uint32_t>(footprint / kVectorBytes);
  return run(*probe, {{&pool_, 0, footprint}, {&sums_}}, groups(elements, kReaders), footprint,
             [&](std::uint32_t passes) {
               return ReadPushConstants{elements, passes};
             });
}

bool StreamBench::fits(LoadPath load_path, std::uint64_t bytes) const {
  const DeviceLimits& limits = device_.profile().limits;
  if (load_path == LoadPath::kBuffer) return bytes <= limits.max_storage_buffer_range_bytes;
  return limits.texel_buffer_rgba32 && bytes / kVectorBytes <= limits.max_texel_buffer_elements;
}

std::uint32_t StreamBench::groups(std::uint32_t elements, std::uint32_t most_invocations) const {
  const auto local_size = static_cast<std::uint32_t>(local_size_);
  return std::min({most_invocations / local_size, std::max(1u, elements / local_size),
                   device_.profile().limits.max_workgroup_count[0]});
}

template <typename Push>
StreamRun StreamBench::run(Probe& probe, const std::vector<BufferRange>& bindings,
                           std::uint32_t groups, std::uint64_t bytes, const Push& push) {
  constexpr std::uint64_t kMostPasses = 1u << 12;  // Each with few iterations.
  std::uint64_t passes = std::max<std::uint64_t>(1, kMovedBytes / bytes);
  while (true) {
    TimedDispatch dispatch =
        probe.dispatch(bindings, push(static_cast<std::uint32_t>(passes)), groups);
    const double ns = dispatch.take().kernel_ns;
    if (ns >= kEnoughNs || passes >= kMostPasses)
      return StreamRun(std::move(dispatch), static_cast<double>(bytes * passes), ns);
    passes *= 4;
  }
}

}  // namespace rooftile
