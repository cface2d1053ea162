#include "runtime/verify/certify_run.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "core/round.h"
#include "runtime/kernel/step_time.h"

namespace rooftile {
namespace {

// Certification problems are tiny.
constexpr double kTimeoutNs = 20e9;

// Device-visible copy of a host vector; on memory that is not unified, the data passes through a
// mapped buffer.
class Exchange {
 public:
  template <typename T>
  Exchange(Device& device, const std::vector<T>& content)
      : bytes_(static_cast<std::uint64_t>(round_up(
            std::max<std::int64_t>(static_cast<std::int64_t>(content.size() * sizeof(T)), 16),
            16))),
        kernel_side_(device.create_buffer(bytes_, BufferUse::kDevice)),
        host_side_(device.create_buffer(bytes_, BufferUse::kDownload)) {
    std::ranges::copy(content, static_cast<T*>(host_side_.mapped()));
  }

  const Buffer& kernel_side() const { return kernel_side_; }
  CopyStep upload() const { return {{&host_side_, 0, bytes_}, {&kernel_side_, 0, bytes_}}; }
  CopyStep download() const { return {{&kernel_side_, 0, bytes_}, {&host_side_, 0, bytes_}}; }
  const char* content() const { return static_cast<const char*>(host_side_.mapped()); }

 private:
  std::uint64_t bytes_;
  Buffer kernel_side_, host_side_;
};

}  // namespace

CaseResult run_case(Device& device, const Kernel& kernel, const CertificationCase& test,
                    const CertificationOperands& x) {
  const Exchange a(device, x.a), b(device, x.b), c(device, x.c), vectors(device, x.vectors),
      residual(device, x.residual), scales(device, x.scales), zero_points(device, x.zero_points);
  const bool grouped = is_grouped(test.problem);
  // The list is longer than need be, as it is where only the device knows the sizes.
  std::vector<GroupTile> tiles = group_tiles(test.groups, kernel.variant().tile_m);
  tiles.resize(tiles.size() + 1);
  const Exchange group_tiles(device, tiles);
  const GemmPlan plan = grouped ? kernel.plan_grouped(test.problem, x.placement,
                                                      static_cast<std::int64_t>(tiles.size()))
                                : kernel.plan(test.problem, x.placement);
  const auto panel = [&](std::int64_t words) -> std::unique_ptr<const Exchange> {
    // NaN in the workspace exposes a pack kernel that leaves padding unwritten.
    if (words == 0) return nullptr;
    return std::make_unique<Exchange>(device,
                                      std::vector<float>(static_cast<std::size_t>(words),
                                                         std::numeric_limits<float>::quiet_NaN()));
  };
  const auto packed_a = panel(plan.packed_a_words), packed_b = panel(plan.packed_b_words),
             parts = panel(plan.part_words);
  const Operands operands = {
      &a.kernel_side(),      &b.kernel_side(),           &c.kernel_side(),
      x.placement,           &vectors.kernel_side(),     &residual.kernel_side(),
      &scales.kernel_side(), &zero_points.kernel_side(), &group_tiles.kernel_side()};
  const Workspace workspace = {packed_a ? &packed_a->kernel_side() : nullptr,
                               packed_b ? &packed_b->kernel_side() : nullptr,
                               parts ? &parts->kernel_side() : nullptr};
  // In one submission, because each takes longer than the problem.
  std::vector<Step> steps;
  for (const Exchange* content : {&a, &b, &c, &vectors, &residual, &scales, &zero_points,
                                  &group_tiles, packed_a.get(), packed_b.get(), parts.get()})
    if (content != nullptr) steps.emplace_back(content->upload());
  steps.emplace_back(BarrierStep{});
  for (const Step& step : kernel.steps(plan, operands, workspace).steps) steps.push_back(step);
  steps.emplace_back(BarrierStep{});
  steps.emplace_back(c.download());
  CommandList list = device.record(steps);
  // Software devices compile at the first dispatch, others when a pipeline is made.
  device.run(list, device.profile().kind == DeviceKind::kSoftware ? kCompileTimeoutNs : kTimeoutNs);
  return compare_result(test, x, c.content());
}

}  // namespace rooftile
