#include "tuner/stream_bench.h"

#include <algorithm>

namespace rooftile {
namespace {

constexpr std::uint64_t kVectorBytes = 16;
constexpr std::uint64_t kPage = 4096;
// From the end of an array to the next: at equal places of their pages, stores hold up the loads
// behind them on many processors. A multiple of every alignment that Vulkan allows a device to ask.
constexpr std::uint64_t kSkew = 1280;
constexpr std::uint64_t kMovedBytes = 1u << 24;  // by a sample at least, in passes; more
constexpr double kEnoughNs = 0.5e6;              // until it is as long as this
constexpr std::uint32_t kInvocations = 262144;   // at most: enough for every device
// Of them those that read only: the sums that they write stay below a part in sixteen.
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
  if (!fits(load_path, bytes) || !fits(LoadPath::kBuffer, bytes)) return {};  // c is no texels
  auto& probe = probes_[{static_cast<int>(kernel), load_path}];
  if (!probe) probe.emplace(device_, emit_stream(kernel, load_path, local_size_));
  const auto slice = [&](std::uint64_t i) {
    return BufferRange{&pool_, i * (bytes + kSkew), bytes};
  };
  const auto elements = static_cast<std::uint32_t>(bytes / kVectorBytes);
  // Two arrays of three where there are two: the third binding is not read.
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
  constexpr std::uint64_t kMostPasses = 1u << 12;  // of few trips each
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
