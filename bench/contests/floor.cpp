#include "bench/contests/floor.h"

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>

#include "core/clock.h"
#include "core/error.h"
#include "generator/calibration_shaders.h"
#include "runtime/support/copy_bytes.h"
#include "tuner/measure/probe.h"

namespace rooftile {
namespace {

/// A row whose take() makes one call and returns the device's time in it, 0 for none.
struct SampledRow {
  FloorRow row;
  std::function<double()> take;
};

/// In turns, after one round that warms up.
std::vector<FloorRow> sample(FullClocks& clocks, std::vector<SampledRow> all, int rounds) {
  for (int round = -1; round < rounds; ++round)
    for (auto& [row, take] : all) {
      if (!row.failure.empty()) continue;
      try {
        clocks.raise();
        const double start = now_ns(), device_ns = take(), wall_ns = now_ns() - start;
        if (round < 0) continue;
        row.wall_ns.push_back(wall_ns);
        if (device_ns > 0) row.device_ns.push_back(device_ns);
      } catch (const Error& error) {
        row.failure = error.what();
      }
    }
  std::vector<FloorRow> rows;
  for (SampledRow& one : all) rows.push_back(std::move(one.row));
  return rows;
}

Timing timing(const Device& device) {
  return device.profile().limits.timestamp_valid_bits > 0 ? Timing::kWhole : Timing::kNone;
}

double run(Device& device, CommandList& list) {
  const RunResult result = device.run(list, kProbeTimeoutNs);
  return result.step_ns.empty() ? 0 : result.step_ns.front();
}

/// Records each time, as calls do.
double copy(Device& device, const Buffer& source, const Buffer& target, std::uint64_t bytes) {
  CommandList list = device.record(
      std::vector<Step>{CopyStep{{&source, 0, bytes}, {&target, 0, bytes}}}, timing(device));
  return run(device, list);
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using HostMemory = std::unique_ptr<void, Free>;

HostMemory host_memory(std::uint64_t bytes) {
  constexpr std::uint64_t kAlignment = 65536;  // the most that VK_EXT_external_memory_host allows
  const std::uint64_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  HostMemory memory(std::aligned_alloc(kAlignment, whole));
  if (memory == nullptr) fail(ErrorCode::kOutOfMemory, "no {} bytes of the host's memory", whole);
  std::fill_n(static_cast<char*>(memory.get()), whole, char{1});
  return memory;
}

/// The paths of one size. Its buffers are gone before those of the next size are made.
class Copies {
 public:
  Copies(FullClocks& clocks, const DeviceRates& rates, Staging staging, std::uint64_t bytes)
      : clocks_(clocks),
        device_(*clocks.device()),
        rates_(rates),
        mapped_(staging == Staging::kWhereNeeded && device_.profile().unified_memory),
        bytes_(bytes) {}

  std::vector<FloorRow> measure(int rounds) {
    std::vector<FloorRow> rows;
    try {
      host_ = host_memory(bytes_);
      const auto buffer = [&](BufferUse use) { return device_.create_buffer(bytes_, use); };
      own_ = buffer(BufferUse::kDevice), other_ = buffer(BufferUse::kDevice);
      if (!mapped_) up_ = buffer(BufferUse::kUpload), down_ = buffer(BufferUse::kDownload);
      staged();
      imported();
      rows = sample(clocks_, std::move(all_), rounds);
    } catch (const Error& error) {
      rows.push_back(
          {.part = "copies", .what = "buffers", .size = bytes_, .failure = error.what()});
    }
    return rows;
  }

 private:
  void add(std::string what, double predicted_ns, std::function<double()> take) {
    all_.push_back(
        {{.part = "copies", .what = std::move(what), .size = bytes_, .predicted_ns = predicted_ns},
         std::move(take)});
  }
  /// 0 without the rate.
  double at(double gbps) const { return gbps > 0 ? static_cast<double>(bytes_) / gbps : 0; }

  /// Through memory that the host maps: the device's own where it is unified.
  void staged() {
    const Buffer &up = mapped_ ? own_ : up_, &down = mapped_ ? own_ : down_;
    const auto fill = [this, &up] {
      copy_bytes(host_.get(), up.mapped(), bytes_);
      return 0.0;
    };
    const auto read = [this, &down] { copy_bytes(down.mapped(), host_.get(), bytes_); };
    add("staged in", at(rates_.upload_gbps),
        [this, fill] { return fill() + (mapped_ ? 0 : copy(device_, up_, own_, bytes_)); });
    add("staged out", at(rates_.download_gbps), [this, read] {
      const double device_ns = mapped_ ? 0 : copy(device_, own_, down_, bytes_);
      read();
      return device_ns;
    });
    if (!mapped_) {
      add("host's copy in", 0, fill);
      add("host's copy out", 0, [read] { return read(), 0.0; });
    }
    add("within the device", 0, [this] { return copy(device_, own_, other_, bytes_); });
  }

  /// The host's own memory as a buffer, which each call imports anew.
  void imported() {
    const std::uint64_t alignment = device_.profile().limits.host_import_alignment_bytes;
    if (alignment == 0 || bytes_ % alignment != 0) return;
    const auto import = [this] { return device_.import_host(host_.get(), bytes_); };
    const auto predicted = [this](double more_ns) {
      return rates_.import_ns > 0 && more_ns > 0 ? rates_.import_ns + more_ns : 0;
    };
    add("import", predicted(static_cast<double>(bytes_) * rates_.import_growth_ns), [import] {
      const Buffer once = import();
      return 0.0;
    });
    add("copied in", predicted(at(rates_.import_upload_gbps)),
        [this, import] { return copy(device_, import(), own_, bytes_); });
    add("copied out", predicted(at(rates_.import_download_gbps)),
        [this, import] { return copy(device_, own_, import(), bytes_); });
  }

  FullClocks& clocks_;
  Device& device_;
  const DeviceRates& rates_;
  const bool mapped_;  ///< The host writes and reads the device's own memory.
  const std::uint64_t bytes_;
  HostMemory host_;  // Outlives its buffers.
  Buffer own_, other_, up_, down_;
  std::vector<SampledRow> all_;
};

}  // namespace

std::vector<FloorRow> dispatch_floor(FullClocks& clocks, const DeviceRates& rates, int rounds) {
  Device& device = *clocks.device();
  const Probe probe(device, emit_barriers(static_cast<int>(device.profile().limits.subgroup_size)));
  const Buffer target = device.create_buffer(4096, BufferUse::kDevice);
  const Step nothing = DispatchStep{.pipeline = &probe.pipeline(),
                                    .bindings = {{&target}},
                                    .push_constants = bytes_of_block(BarriersPushConstants{0}),
                                    .groups = {1, 1, 1}};
  std::vector<SampledRow> all;
  for (const char* what : {"side by side", "with barriers"})
    for (const std::uint64_t size : {0, 1, 2, 8, 64}) {
      const bool barriers = what == std::string("with barriers");
      if (barriers && size < 2) continue;
      std::vector<Step> steps;
      for (std::uint64_t i = 0; i < size; ++i) {
        if (barriers && i > 0) steps.emplace_back(BarrierStep{});
        steps.push_back(nothing);
      }
      const auto list = std::make_shared<CommandList>(device.record(steps, timing(device)));
      const double more = static_cast<double>(size) - 1;
      all.push_back(
          {{.part = "dispatches",
            .what = what,
            .size = size,
            .predicted_ns =
                size > 0 && rates.submit_ns > 0 ? rates.submit_ns + more * rates.dispatch_ns : 0},
           [&device, list] { return run(device, *list); }});
    }
  return sample(clocks, std::move(all), rounds);
}

std::vector<FloorRow> copy_floor(FullClocks& clocks, const DeviceRates& rates, int rounds,
                                 std::uint64_t most_bytes, Staging staging) {
  std::vector<FloorRow> rows;
  for (std::uint64_t bytes = 1024; bytes <= most_bytes; bytes *= 4)
    for (FloorRow& row : Copies(clocks, rates, staging, bytes).measure(rounds))
      rows.push_back(std::move(row));
  return rows;
}

}  // namespace rooftile
