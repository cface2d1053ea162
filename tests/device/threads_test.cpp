#include <atomic>
#include <thread>

#include "tests/support/test_device.h"

namespace rooftile {
namespace {

constexpr int kThreads = 4;

template <typename Work>
void in_threads(Work&& work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([&work, t] { work(t); });
  for (std::thread& thread : threads) thread.join();
}

// Every thread creates and runs its own objects; results must never mix.
TEST(Threads, MakeRecordAndRunOnOneDevice) {
  Device& device = test_device();
  std::atomic<int> wrong = 0;
  in_threads([&](int t) {
    for (int round = 0; round < 8; ++round) {
      const auto n = static_cast<std::uint32_t>(101 + 16 * t + round);
      const auto factor = static_cast<float>(10 * t + round);
      const Affine affine(device);
      const Buffer x = device.create_buffer(n * sizeof(float), BufferUse::kUpload);
      const Buffer y = device.create_buffer(n * sizeof(float), BufferUse::kDownload);
      std::fill(view<float>(x).begin(), view<float>(x).end(), 2.0f);
      CommandList list =
          device.record(std::vector<Step>{affine.step({&x}, {&y}, {.n = n, .factor = factor})});
      for (int run = 0; run < 3; ++run) device.run(list, kPatience_ns);
      for (std::uint32_t i = 0; i < n; ++i)
        wrong += view<float>(y)[i] != 2.0f * factor + static_cast<float>(i);
    }
  });
  EXPECT_EQ(wrong, 0);
}

// All threads run one list of counter += 1: each run happens once, after the others.
TEST(Threads, ShareOneList) {
  Device& device = test_device();
  const Pipeline count =
      device.create_pipeline(compile_shader("layout(local_size_x = 1) in; layout(binding = 0) "
                                            "buffer C { uint c; }; void main() { c += 1; }"),
                             {.bindings = {BindingKind::kStorageBuffer}});
  const Buffer counter = device.create_buffer(sizeof(std::uint32_t), BufferUse::kDownload);
  view<std::uint32_t>(counter)[0] = 0;
  CommandList list =
      device.record(std::vector<Step>{DispatchStep{.pipeline = &count, .bindings = {{&counter}}}});
  constexpr int kRuns = 50;
  in_threads([&](int) {
    for (int run = 0; run < kRuns; ++run) device.run(list, kPatience_ns);
  });
  EXPECT_EQ(view<std::uint32_t>(counter)[0], static_cast<std::uint32_t>(kThreads * kRuns));
}

TEST(Threads, EnumerateAndOpenAtOnce) {
  std::atomic<int> opened = 0;
  in_threads([&](int) {
    const auto devices = enumerate_devices().devices;
    opened += !devices.empty() && Device::open(devices.front()) != nullptr;
  });
  EXPECT_EQ(opened, kThreads);
}

}  // namespace
}  // namespace rooftile
