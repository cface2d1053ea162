#include "runtime/resident/resident_product.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "core/error.h"
#include "core/quantized.h"
#include "core/round.h"
#include "generator/layout.h"
#include "runtime/kernel/step_time.h"
#include "runtime/resident/loop_trips.h"

namespace rooftile {
namespace {

constexpr std::uint64_t kStatusBytes = 16;  // Of a status that nobody wants to know.
constexpr std::uint64_t kWordBytes = 4;     // Smaller elements are read and written in words.

/// The last aligned byte before an operand, and the number of elements from there to it.
struct Aligned {
  Region region;
  std::int64_t offset = 0;
};
Aligned align(const Region& at, std::uint64_t alignment, std::int64_t element_bits) {
  const std::uint64_t begin = at.offset_bytes / alignment * alignment;
  return {{at.buffer, begin},
          static_cast<std::int64_t>((at.offset_bytes - begin) * 8) / element_bits};
}

/// Number of elements from the operand to its buffer's end.
std::int64_t readable(const Region& at, std::int64_t element_bits) {
  if (at.buffer == nullptr) return 0;
  return static_cast<std::int64_t>((at.buffer->size_bytes() - at.offset_bytes) * 8) / element_bits;
}

void check_aligned(const char* what, const Region& at, std::uint64_t alignment) {
  if (at.offset_bytes % alignment != 0)
    fail(ErrorCode::kUnsupported,
         "{} starts at byte {} of its buffer, but on this device what belongs to a quantised B "
         "starts at multiples of {} bytes",
         what, at.offset_bytes, alignment);
}

/// A vector of the epilogue that the problem uses.
struct Vector {
  const Region* at;
  std::int64_t count;
  std::int64_t* offset;
};
std::vector<Vector> vectors_of(const ResidentCall& call, Placement& placement) {
  const Problem& p = call.problem;
  const std::int64_t columns = column_elements(p, call.expert_columns);
  std::vector<Vector> vectors;
  if (p.epilogue.row_scale) vectors.push_back({&call.row_scale, p.m, &placement.offset_row_scale});
  if (p.epilogue.column_scale)
    vectors.push_back({&call.column_scale, columns, &placement.offset_column_scale});
  if (p.epilogue.bias != Bias::kNone)
    vectors.push_back(
        {&call.bias, p.epilogue.bias == Bias::kRow ? p.m : columns, &placement.offset_bias});
  return vectors;
}

std::int64_t epilogue_bits(const Problem& p) { return 8 * epilogue_bytes(p, 1); }

/// Bytes of so many elements of the epilogue's vectors.
std::uint64_t vector_bytes(const Problem& p, std::int64_t elements) {
  return static_cast<std::uint64_t>(epilogue_bytes(p, elements));
}

std::uint64_t bytes_of_words(std::int64_t words) {
  return static_cast<std::uint64_t>(words) * sizeof(std::uint32_t);
}

void bind_vectors(BoundCall& bound, const DeviceLimits& limits) {
  const std::vector<Vector> vectors = vectors_of(bound.call, bound.placement);
  if (vectors.empty()) return;
  const Region first = *std::ranges::min_element(vectors, {}, [](const Vector& v) {
                          return v.at->offset_bytes;
                        })->at;
  const Region base = align(first, binding_alignment(limits), 8).region;
  bound.gathers_vectors = std::ranges::any_of(vectors, [&](const Vector& v) {
    const std::uint64_t end = v.at->offset_bytes + vector_bytes(bound.problem, v.count);
    return v.at->buffer != base.buffer ||
           end - base.offset_bytes > limits.max_storage_buffer_range_bytes;
  });
  std::int64_t gathered = 0;
  for (const Vector& v : vectors) {
    *v.offset = bound.gathers_vectors
                    ? gathered
                    : static_cast<std::int64_t>((v.at->offset_bytes - base.offset_bytes) /
                                                vector_bytes(bound.problem, 1));
    gathered += v.count;
  }
  if (!bound.gathers_vectors) bound.vectors = base;
}

}  // namespace

std::uint64_t binding_alignment(const DeviceLimits& limits) {
  return std::max<std::uint64_t>({limits.storage_buffer_alignment_bytes,
                                  limits.texel_buffer_alignment_bytes,
                                  std::uint64_t{kWidestLoadBytes}});
}

BoundCall bind(const ResidentCall& call, const DeviceLimits& limits) {
  BoundCall bound{.call = call, .problem = call.problem};
  if (call.problem.alpha == 0.0f) bound.problem.k = 0;
  const Problem& p = bound.problem;
  const std::uint64_t alignment = binding_alignment(limits);
  const std::int64_t bits_a = 8 * bytes_of(p.types.a), bits_c = 8 * bytes_of(p.types.c);
  if (quantized(p.types)) {
    // Kernels find the scales by the row of B, which an offset would change.
    check_aligned("b", call.b, alignment);
    check_aligned("the scales of b", call.scales, alignment);
    check_aligned("the zero points of b", call.zero_points, alignment);
  }
  const Aligned a = align(call.a, alignment, bits_a),
                b = quantized(p.types) ? Aligned{call.b, 0} : align(call.b, alignment, bits_a),
                c = align(call.c, alignment, bits_c),
                residual = align(call.residual, alignment, epilogue_bits(p));
  bound.a = a.region;
  bound.b = b.region;
  bound.c = c.region;
  bound.residual = residual.region;
  bound.placement = {.offset_a = a.offset,
                     .offset_b = b.offset,
                     .offset_c = c.offset,
                     .readable_a = readable(call.a, bits_a),
                     .readable_b = quantized(p.types) ? elements_of_b(p.types, readable(call.b, 8))
                                                      : readable(call.b, bits_a),
                     .offset_residual = residual.offset,
                     .ld_residual = call.ld_residual,
                     .stride_residual = call.stride_residual,
                     .expert_columns = call.expert_columns};
  bind_vectors(bound, limits);
  return bound;
}

ResidentProduct::ResidentProduct(std::shared_ptr<Device> device,
                                 std::shared_ptr<const Kernel> kernel, BoundCall bound,
                                 double expected_ns, double step_ns)
    : device_(std::move(device)),
      kernel_(std::move(kernel)),
      bound_(std::move(bound)),
      expected_ns_(expected_ns * slowness(kernel_->variant(), bound_.problem.types)) {
  const Problem& p = bound_.problem;
  const double steps = expected_ns_ / step_ns;
  const double max_flops = steps > 1 ? flops(p) / steps : std::numeric_limits<double>::infinity();
  if (bound_.call.groups != nullptr) add_groups();
  plan_ = bound_.call.groups != nullptr
              ? kernel_->plan_grouped(p, bound_.placement, tiles_, max_flops)
              : kernel_->plan(p, bound_.placement, max_flops);
  if (bound_.panels != nullptr) plan_ = without_packing(std::move(plan_), bound_.packed);
  workspace_ = {.packed_a_bytes = bytes_of_words(plan_.packed_a_words),
                .packed_b_bytes = bytes_of_words(plan_.packed_b_words),
                .parts_bytes = bytes_of_words(plan_.part_words)};
  if (bound_.call.groups != nullptr && bound_.call.groups->on_device()) {
    check_loop_trips("making the list of tiles of groups", loop_of(1, loop_of(p.grouping.groups)),
                     device_->profile().limits);
    workspace_.tiles_bytes = static_cast<std::uint64_t>(tiles_) * sizeof(GroupTile);
    workspace_.status_bytes = kStatusBytes;
  }
  if (bound_.gathers_vectors)
    for (const Vector& v : vectors_of(bound_.call, bound_.placement))
      workspace_.vectors_bytes += vector_bytes(p, v.count);
  const std::uint64_t alignment = binding_alignment(device_->profile().limits);
  for (const std::uint64_t bytes :
       {workspace_.packed_a_bytes, workspace_.packed_b_bytes, workspace_.parts_bytes,
        workspace_.vectors_bytes, workspace_.tiles_bytes, workspace_.status_bytes})
    workspace_.total_bytes += round_up(bytes, alignment);
}

/// Makes the list of tiles of sizes that the host knows.
void ResidentProduct::add_groups() {
  const ResidentGroups& groups = *bound_.call.groups;
  const int tile_m = kernel_->variant().tile_m;
  if (groups.on_device()) {
    const Problem& p = bound_.problem;
    tiles_ = most_group_tiles(p.m, p.grouping.groups, tile_m);
    return;
  }
  const std::vector<GroupTile> tiles = group_tiles(groups.known, tile_m);
  tiles_ = static_cast<std::int64_t>(tiles.size());
  const std::uint64_t bytes = tiles.size() * sizeof(GroupTile);
  auto list = std::make_shared<Buffer>(device_->create_buffer(bytes, BufferUse::kUpload));
  std::memcpy(list->mapped(), tiles.data(), bytes);
  tile_list_ = std::move(list);
}

/// The steps that make the list of tiles of sizes that the device knows; returns the list.
const Buffer* ResidentProduct::add_group_steps(ProductSteps& made, const Buffer* list,
                                               const Buffer* status) const {
  const ResidentGroups& groups = *bound_.call.groups;
  const auto bytes = static_cast<std::uint64_t>(bound_.problem.grouping.groups) * kWordBytes;
  const auto view = [&](const Region& region, std::uint64_t size, std::vector<Access>& accesses) {
    accesses.push_back({region.buffer, region.offset_bytes, region.offset_bytes + size});
    made.views.push_back(device_->view(*region.buffer, region.offset_bytes, size));
    return &made.views.back();
  };
  GroupSizes sizes = {.sizes = view(groups.sizes, bytes, made.reads)};
  if (groups.experts.buffer != nullptr) sizes.experts = view(groups.experts, bytes, made.reads);
  sizes.status =
      groups.status.buffer != nullptr ? view(groups.status, kWordBytes, made.writes) : status;
  made.steps.push_back(kernel_->group_tiles_step(bound_.problem, tiles_, sizes, *list));
  made.steps.emplace_back(BarrierStep{});
  return list;
}

/// Binds whole vectors where the buffer has them, so that kernels may read the last one.
const Buffer* ResidentProduct::bound_view(ProductSteps& made, const char* what,
                                          const Region& region, std::uint64_t needed_bytes) const {
  const std::uint64_t left = region.buffer->size_bytes() - region.offset_bytes;
  if (round_up(needed_bytes, kWordBytes) > left)
    fail(ErrorCode::kUnsupported,
         "{} ends in the middle of a word of {} bytes at its buffer's end, and kernels read whole "
         "words: make the buffer {} bytes larger",
         what, kWordBytes, round_up(needed_bytes, kWordBytes) - left);
  const std::uint64_t whole = round_up(needed_bytes, kWidestLoadBytes);
  const std::uint64_t bytes = whole <= left ? whole : round_up(needed_bytes, kWordBytes);
  made.views.push_back(device_->view(*region.buffer, region.offset_bytes, bytes));
  return &made.views.back();
}

const Buffer* ResidentProduct::bound_operand(ProductSteps& made, const char* what,
                                             const Region& region, std::int64_t elements,
                                             std::int64_t element_bits,
                                             std::vector<Access>& accesses) const {
  const auto bytes = static_cast<std::uint64_t>(divide_up(elements * element_bits, 8));
  const Buffer* view = bound_view(made, what, region, bytes);
  accesses.push_back(
      {region.buffer, region.offset_bytes, region.offset_bytes + view->size_bytes()});
  return view;
}

/// Binds A, or B with its scales and zero points, for a kernel that reads or packs it.
void ResidentProduct::bind_operand(ProductSteps& made, Operands& x, Operand operand) const {
  const Problem& p = bound_.problem;
  const BoundElements bound = bound_elements(kernel_->variant(), p, bound_.placement);
  if (operand == Operand::kA) {
    x.a = bound_operand(made, "a", bound_.a, bound.a, 8 * bytes_of(p.types.a), made.reads);
    return;
  }
  x.b = bound_operand(made, "b", bound_.b, bytes_of_b(p.types, bound.b), 8, made.reads);
  if (!has_separate_scales(p.types)) return;
  const QuantizedBytes bytes = quantized_bytes(p);
  x.scales =
      bound_operand(made, "the scales of b", bound_.call.scales, bytes.scales, 8, made.reads);
  if (bytes.zero_points > 0)
    x.zero_points = bound_operand(made, "the zero points of b", bound_.call.zero_points,
                                  bytes.zero_points, 8, made.reads);
}

Operands ResidentProduct::operands(ProductSteps& made, const Buffer& nothing) const {
  const Problem& p = bound_.problem;
  const Placement& at = bound_.placement;
  Operands x{.a = &nothing, .b = &nothing, .placement = at};
  x.c = bound_operand(made, "c", bound_.c, bound_elements(kernel_->variant(), p, at).c,
                      8 * bytes_of(p.types.c), made.writes);
  if (p.epilogue.residual) {
    const std::int64_t elements = at.offset_residual + (p.batch - 1) * at.stride_residual +
                                  span_elements({p.m, p.n}, at.ld_residual);
    x.residual = bound_operand(made, "the residual", bound_.residual, elements, epilogue_bits(p),
                               made.reads);
  }
  if (bound_.vectors.buffer != nullptr) {
    Placement offsets = at;
    std::int64_t elements = 0;
    for (const Vector& v : vectors_of(bound_.call, offsets))
      elements = std::max(elements, *v.offset + v.count);
    x.vectors = bound_operand(made, "the epilogue's vectors", bound_.vectors, elements,
                              epilogue_bits(p), made.reads);
  }
  if (has_separate_scales(p.types)) {
    x.scales = &nothing;
    if (p.types.b.zero_point != ZeroPoint::kMiddle) x.zero_points = &nothing;
  }
  if (p.k == 0) return x;
  for (const Operand operand : {Operand::kA, Operand::kB}) {
    if (bound_.panels == nullptr || operand != bound_.packed) {
      bind_operand(made, x, operand);
      continue;
    }
    made.reads.push_back({bound_.panels, 0, bound_.panels->size_bytes()});
  }
  return x;
}

ProductSteps ResidentProduct::packing_steps(Operand operand, const Buffer& panels) const {
  ProductSteps made;
  Operands operands;
  bind_operand(made, operands, operand);
  const bool is_a = operand == Operand::kA;
  GemmPlan plan = plan_;
  plan.clear_parts = false;
  plan.gemms.clear();
  plan.reduces.clear();
  std::erase_if(plan.packs, [&](const PackStep& pack) { return pack.operand != operand; });
  static_cast<KernelSteps&>(made) = kernel_->steps(
      plan, operands, {.packed_a = is_a ? &panels : nullptr, .packed_b = is_a ? nullptr : &panels});
  made.writes.push_back({&panels, 0, panels.size_bytes()});
  return made;
}

ProductSteps ResidentProduct::steps(const Region& workspace, const Buffer& nothing) const {
  ProductSteps made;
  if (empty()) return made;
  Operands operands = this->operands(made, nothing);
  std::uint64_t next = workspace.offset_bytes;
  const auto part = [&](std::uint64_t bytes) -> const Buffer* {
    if (bytes == 0) return nullptr;
    made.views.push_back(device_->view(*workspace.buffer, next, bytes));
    next += round_up(bytes, binding_alignment(device_->profile().limits));
    return &made.views.back();
  };
  Workspace panels = {part(workspace_.packed_a_bytes), part(workspace_.packed_b_bytes),
                      part(workspace_.parts_bytes)};
  if (bound_.panels != nullptr)
    (bound_.packed == Operand::kA ? panels.packed_a : panels.packed_b) = bound_.panels;
  if (bound_.gathers_vectors) {
    const Buffer* gathered = part(workspace_.vectors_bytes);
    Placement offsets = bound_.placement;
    for (const Vector& v : vectors_of(bound_.call, offsets)) {
      const std::uint64_t bytes = vector_bytes(bound_.problem, v.count);
      made.steps.emplace_back(CopyStep{{v.at->buffer, v.at->offset_bytes, bytes},
                                       {gathered, vector_bytes(bound_.problem, *v.offset), bytes}});
      made.reads.push_back({v.at->buffer, v.at->offset_bytes, v.at->offset_bytes + bytes});
    }
    operands.vectors = gathered;
  }
  if (bound_.call.groups != nullptr) {
    const Buffer* const list = part(workspace_.tiles_bytes);
    const Buffer* const status = part(workspace_.status_bytes);
    operands.group_tiles = list != nullptr ? add_group_steps(made, list, status) : tile_list_.get();
  }
  if (workspace_.total_bytes > 0) {
    const Access all = {workspace.buffer, workspace.offset_bytes,
                        workspace.offset_bytes + workspace_.total_bytes};
    for (const std::vector<Access>* operands_of : {&made.reads, &made.writes})
      for (const Access& operand : *operands_of)
        if (operand.buffer == all.buffer && operand.begin < all.end && all.begin < operand.end)
          fail(ErrorCode::kInvalidArgument, "the workspace overlaps an operand");
    made.writes.push_back(all);
  }
  KernelSteps kernel = kernel_->steps(plan_, operands, panels);
  // Otherwise the barrier after packing is also one after gathering.
  if (bound_.gathers_vectors && kernel.first_gemm == 0) made.steps.emplace_back(BarrierStep{});
  made.first_gemm = made.steps.size() + kernel.first_gemm;
  made.gemms = kernel.gemms;
  std::ranges::move(kernel.steps, std::back_inserter(made.steps));
  return made;
}

}  // namespace rooftile
