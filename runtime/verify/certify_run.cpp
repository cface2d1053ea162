#include "runtime/verify/certify_run.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "core/round.h"

namespace rooftile {
namespace {

// Certification problems are tiny, but the first run may compile.
constexpr double kTimeoutNs = 20e9;

// Device-visible copy of a host vector; on memory that is not unified, the data passes through a
// mapped buffer.
class Exchange {
 public:
  Exchange(Device& device, const std::vector<char>& content)
      : device_(device),
        bytes_(static_cast<std::uint64_t>(
            round_up(std::max<std::int64_t>(static_cast<std::int64_t>(content.size()), 16), 16))),
        kernel_side_(device.create_buffer(bytes_, BufferUse::kDevice)),
        host_side_(device.create_buffer(bytes_, BufferUse::kDownload)) {
    std::copy(content.begin(), content.end(), static_cast<char*>(host_side_.mapped()));
    copy(host_side_, kernel_side_);
  }

  const Buffer& kernel_side() const { return kernel_side_; }
  /// Returns the content after the kernels have run.
  const char* fetch() {
    copy(kernel_side_, host_side_);
    return static_cast<const char*>(host_side_.mapped());
  }

 private:
  void copy(const Buffer& source, const Buffer& target) {
    const std::vector<Step> steps = {CopyStep{{&source, 0, bytes_}, {&target, 0, bytes_}}};
    CommandList list = device_.record(steps);
    device_.run(list, kTimeoutNs);
  }
  Device& device_;
  std::uint64_t bytes_;
  Buffer kernel_side_, host_side_;
};

std::vector<char> bytes_of_floats(const std::vector<float>& floats) {
  std::vector<char> bytes(floats.size() * sizeof(float));
  std::memcpy(bytes.data(), floats.data(), bytes.size());
  return bytes;
}

std::vector<char> bytes_of_tiles(const std::vector<GroupTile>& tiles) {
  std::vector<char> bytes(tiles.size() * sizeof(GroupTile));
  std::memcpy(bytes.data(), tiles.data(), bytes.size());
  return bytes;
}

}  // namespace

CaseResult run_case(Device& device, const Kernel& kernel, const CertificationCase& test,
                    const CertificationOperands& x) {
  const Exchange a(device, x.a), b(device, x.b);
  Exchange c(device, x.c);
  const Exchange vectors(device, bytes_of_floats(x.vectors)),
      residual(device, bytes_of_floats(x.residual)), scales(device, x.scales),
      zero_points(device, x.zero_points);
  const bool grouped = is_grouped(test.problem);
  // The list is longer than need be, as it is where only the device knows the sizes.
  std::vector<GroupTile> tiles = group_tiles(test.groups, kernel.variant().tile_m);
  tiles.resize(tiles.size() + 1);
  const Exchange group_tiles(device, bytes_of_tiles(tiles));
  const GemmPlan plan = grouped ? kernel.plan_grouped(test.problem, x.placement,
                                                      static_cast<std::int64_t>(tiles.size()))
                                : kernel.plan(test.problem, x.placement);
  const auto panel = [&](std::int64_t elements) {
    // NaN in the workspace exposes a pack kernel that leaves padding unwritten.
    if (elements == 0) return std::unique_ptr<Exchange>();
    return std::make_unique<Exchange>(
        device, bytes_of_floats(std::vector<float>(static_cast<std::size_t>(elements),
                                                   std::numeric_limits<float>::quiet_NaN())));
  };
  const auto packed_a = panel(plan.packed_a_elements), packed_b = panel(plan.packed_b_elements),
             parts = panel(plan.part_elements);
  const Operands operands = {
      &a.kernel_side(),      &b.kernel_side(),           &c.kernel_side(),
      x.placement,           &vectors.kernel_side(),     &residual.kernel_side(),
      &scales.kernel_side(), &zero_points.kernel_side(), &group_tiles.kernel_side()};
  const Workspace workspace = {packed_a ? &packed_a->kernel_side() : nullptr,
                               packed_b ? &packed_b->kernel_side() : nullptr,
                               parts ? &parts->kernel_side() : nullptr};
  CommandList list = device.record(kernel.steps(plan, operands, workspace).steps);
  device.run(list, kTimeoutNs);
  return compare_result(test, x, c.fetch());
}

}  // namespace rooftile
