#include "runtime/resident/packing.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/quantized.h"
#include "generator/space.h"
#include "runtime/kernel/staging.h"
#include "runtime/kernel/step_time.h"

namespace rooftile {
namespace {

// A form that is there already is used where it costs at most this much more than the best one:
// less is noise, and each form takes memory.
constexpr double kEqual = 1.02;
// Sizes at which some kernel has to be able to run, or the operand is kept as stored.
constexpr std::array<std::int64_t, 3> kOtherSizes = {1, 3, 101};
// The host copies an operand to the device in pieces of so many bytes.
constexpr std::int64_t kUploadBytes = 16 << 20;

/// The same call with another m (n, where A is packed). The packed operand stays as it is; the
/// other matrices keep their rows' padding where those have this size.
Problem resized(const Problem& p, Operand operand, std::int64_t size) {
  Problem q = p;
  const bool is_b = operand == Operand::kB;
  const std::int64_t more = size - (is_b ? q.m : q.n);
  (is_b ? q.m : q.n) = size;
  if (is_b && p.trans_a == Transpose::kYes) q.lda += more;
  if (!is_b && p.trans_b == Transpose::kNo) q.ldb += more;
  if (!is_b) q.ldc += more;
  if (p.batch > 1) {
    if (is_b && p.stride_a != 0) q.stride_a = stored_a(q).rows * q.lda;
    if (!is_b && p.stride_b != 0) q.stride_b = stored_b(q).rows * q.ldb;
    q.stride_c = q.m * q.ldc;
  }
  return q;
}

using Use = PrepackedOperand::Use;
/// Whether kernels may pack the operand once more, from where it is kept as stored.
enum class Again : std::uint8_t { kNo, kYes };

/// What a kernel does with the forms of a plan that is being made.
Use use_of(const PackingPlan& plan, const Variant& v, const Problem& p, Operand operand,
           Again again) {
  const auto format = packed_format(v, p, operand);
  const bool there = std::ranges::any_of(
      plan.panels, [&](const PackingPlan::Panels& panels) { return panels.format == format; });
  if (there) return Use::kReadsPacked;
  return plan.stored && (!format || again == Again::kYes) ? Use::kReadsStored : Use::kNone;
}

class Planner {
 public:
  Planner(const KernelRanking& ranking, const DeviceLimits& limits, Operand operand,
          const KernelSource& source)
      : ranking_(ranking), limits_(limits), operand_(operand), source_(source) {}

  void add(const Problem& p) {
    const std::vector<RankedChoice> choices = ranked_free(p);
    const auto [best, kernel] = first_working(choices, signature_of(p));
    if (best == choices.end()) return;
    const Variant& v = best->candidate->variant;
    if (plan_.kernel.empty()) plan_.kernel = short_name(v);
    // Only kernels whose times are of one kind are equal: behind measured ones come predictions.
    for (auto equal = best; equal != choices.end() && equal->expected_ns >= best->expected_ns &&
                            equal->expected_ns <= kEqual * best->expected_ns;
         ++equal)
      if (use_of(plan_, equal->candidate->variant, p, operand_, Again::kNo) != Use::kNone) return;
    if (const auto format = packed_format(v, p, operand_))
      plan_.panels.push_back({*format, p, kernel});
    else
      plan_.stored = true;
  }
  /// Calls of other sizes than the expected ones find a kernel.
  void serve_other_sizes(const Problem& like) {
    if (plan_.panels.empty()) return;
    for (const std::int64_t size : kOtherSizes) {
      if (ranked_with_forms(resized(like, operand_, size)).empty()) plan_.stored = true;
    }
  }
  PackingPlan take() { return std::move(plan_); }

 private:
  std::vector<RankedChoice> ranked(const Problem& p,
                                   const std::function<Use(const Variant&)>& use) {
    return ranking_.ranked(p, own_buffers(p), limits_,
                           PrepackedOperand{.operand = operand_, .use = use});
  }
  /// The ranking if every form were there.
  std::vector<RankedChoice> ranked_free(const Problem& p) {
    return ranked(p, [&](const Variant& v) {
      return packed_format(v, p, operand_) ? Use::kReadsPacked : Use::kReadsStored;
    });
  }
  std::vector<RankedChoice> ranked_with_forms(const Problem& p) {
    return ranked(p, [&](const Variant& v) { return use_of(plan_, v, p, operand_, Again::kYes); });
  }
  /// The first of them that compiles, or the end.
  std::pair<std::vector<RankedChoice>::const_iterator, std::shared_ptr<const Kernel>> first_working(
      const std::vector<RankedChoice>& choices, const Signature& signature) {
    for (auto choice = choices.begin(); choice != choices.end(); ++choice) {
      try {
        if (auto kernel = source_(*choice->candidate, signature))
          return {choice, std::move(kernel)};
      } catch (const Error& error) {
        if (error.code() == ErrorCode::kOutOfMemory || error.code() == ErrorCode::kDevice) throw;
      }
    }
    return {choices.end(), nullptr};
  }

  const KernelRanking& ranking_;
  const DeviceLimits& limits_;
  const Operand operand_;
  const KernelSource& source_;
  PackingPlan plan_;
};

/// A kernel that packs the operand, bound to where it lies. The other matrices have no place.
ResidentProduct packing_product(const Resident& resident, const StoredOperand& stored,
                                Operand operand, const PackingPlan::Panels& panels) {
  const DeviceLimits& limits = resident.device()->profile().limits;
  ResidentCall call = stored.call;
  Problem p = one_product(panels.problem);
  p.alpha = 1;
  p.beta = 0;
  p.lda = operand == Operand::kA ? call.problem.lda : p.lda;
  p.ldb = operand == Operand::kB ? call.problem.ldb : p.ldb;
  call.problem = p;
  BoundCall bound = bind(call, limits);
  const Placement own = own_buffers(p);
  if (operand == Operand::kA)
    bound.placement.readable_b = own.readable_b;
  else
    bound.placement.readable_a = own.readable_a;
  constexpr double kUnknownNs = 0;
  return {resident.device(), panels.kernel, std::move(bound), kUnknownNs, kStepNs};
}

std::shared_ptr<DeviceMemory> copied(Resident& resident, Segments& segments, const Region& from,
                                     std::uint64_t bytes) {
  auto memory = resident.create_memory(bytes);
  const Buffer* const source = from.buffer;
  const std::uint64_t begin = from.offset_bytes;
  segments.add(CopyStep{{source, begin, bytes}, {&memory->buffer, 0, bytes}},
               {source, begin, begin + bytes}, {&memory->buffer, 0, bytes});
  return memory;
}

/// The operand as stored: what was made for it alone, or a copy.
PackedForm stored_form(Resident& resident, const StoredOperand& stored, Operand operand,
                       Segments& segments) {
  const Problem& p = stored.call.problem;
  PackedForm form = {.ld = operand == Operand::kA ? p.lda : p.ldb,
                     .values = stored.values,
                     .scales = stored.scales,
                     .zero_points = stored.zero_points};
  if (stored.owned) return form;
  const auto elements = [&](std::int64_t count) {
    return static_cast<std::uint64_t>(count * bytes_of(p.types.a));
  };
  if (operand == Operand::kA) {
    form.values = copied(resident, segments, stored.call.a, elements(span_a(one_product(p))));
  } else if (!quantized(p.types)) {
    form.values = copied(resident, segments, stored.call.b, elements(span_b(one_product(p))));
  } else {
    const QuantizedBytes bytes = quantized_bytes(p);
    const auto copy = [&](const Region& from, std::int64_t size) {
      return copied(resident, segments, from, static_cast<std::uint64_t>(size));
    };
    form.values = copy(stored.call.b, bytes.values);
    if (bytes.scales > 0) form.scales = copy(stored.call.scales, bytes.scales);
    if (bytes.zero_points > 0) form.zero_points = copy(stored.call.zero_points, bytes.zero_points);
  }
  return form;
}

}  // namespace

std::vector<Problem> expected_problems(const PackRequest& request) {
  const Problem& p = request.call.problem;
  std::vector<Problem> problems;
  const auto add = [&](std::int64_t size) {
    if (size > 0) problems.push_back(resized(p, request.operand, size));
  };
  add(request.operand == Operand::kB ? p.m : p.n);
  for (const std::int64_t size : request.sizes) add(size);
  for (Problem& expected : problems) expected.alpha = 1;
  return problems;
}

PackingPlan plan_packing(const KernelRanking& ranking, const DeviceLimits& limits,
                         const std::vector<Problem>& problems, Operand operand,
                         const KernelSource& source) {
  Planner planner(ranking, limits, operand, source);
  for (const Problem& p : problems) planner.add(p);
  if (!problems.empty()) planner.serve_other_sizes(problems.front());
  return planner.take();
}

StoredOperand upload_operand(Resident& resident, const GemmCall& call, Operand operand) {
  const Problem one = one_product(call.problem), staged = staged_problem(one);
  const StagedBytes bytes = staged_bytes(staged);
  const bool is_a = operand == Operand::kA;
  StoredOperand stored{.call = {.problem = staged}, .owned = true};
  stored.values = resident.create_memory(is_a ? bytes.a : bytes.b);
  const auto raw = [&](const void* from, std::int64_t size) {
    auto memory = resident.create_memory(static_cast<std::uint64_t>(size));
    resident.upload(memory, 0, from, static_cast<std::uint64_t>(size));
    return memory;
  };
  if (!is_a && quantized(one.types)) {
    const QuantizedBytes parts = quantized_bytes(one);
    resident.upload(stored.values, 0, call.b, static_cast<std::uint64_t>(parts.values));
    if (parts.scales > 0) stored.scales = raw(call.scales, parts.scales);
    if (parts.zero_points > 0) stored.zero_points = raw(call.zero_points, parts.zero_points);
  } else {
    const Extent extent = is_a ? stored_a(one) : stored_b(one);
    const std::int64_t ld = is_a ? one.lda : one.ldb, staged_ld = is_a ? staged.lda : staged.ldb;
    const std::int64_t size = bytes_of(one.types.a), row_bytes = staged_ld * size;
    const std::int64_t rows = std::max<std::int64_t>(1, kUploadBytes / row_bytes);
    std::vector<char> piece(static_cast<std::size_t>(std::min(rows, extent.rows) * row_bytes));
    for (std::int64_t row = 0; row < extent.rows; row += rows) {
      const std::int64_t count = std::min(rows, extent.rows - row);
      copy_matrix({count, extent.columns}, one.types.a,
                  static_cast<const char*>(is_a ? call.a : call.b) + row * ld * size, ld,
                  piece.data(), staged_ld);
      resident.upload(stored.values, static_cast<std::uint64_t>(row * row_bytes), piece.data(),
                      static_cast<std::uint64_t>(count * row_bytes));
    }
  }
  const auto region = [](const std::shared_ptr<DeviceMemory>& memory) {
    return memory == nullptr ? Region{} : Region{&memory->buffer, 0};
  };
  (is_a ? stored.call.a : stored.call.b) = region(stored.values);
  stored.call.scales = region(stored.scales);
  stored.call.zero_points = region(stored.zero_points);
  return stored;
}

std::vector<PackedForm> pack_forms(Resident& resident, const StoredOperand& stored, Operand operand,
                                   const PackingPlan& plan) {
  std::vector<PackedForm> forms;
  Segments segments;
  RunContents contents;
  for (const PackingPlan::Panels& panels : plan.panels) {
    const auto words = static_cast<std::uint64_t>(panels.format.words());
    PackedForm form = {.panels = panels.format,
                       .values = resident.create_memory(words * sizeof(float))};
    segments.add(packing_product(resident, stored, operand, panels)
                     .packing_steps(operand, form.values->buffer),
                 0);
    contents.keeps.push_back(panels.kernel);
    forms.push_back(std::move(form));
  }
  if (plan.stored) forms.push_back(stored_form(resident, stored, operand, segments));
  MemoryUses uses = stored.uses;
  for (const PackedForm& form : forms)
    for (const auto& memory : {form.values, form.scales, form.zero_points})
      if (memory != nullptr) uses.push_back(memory);
  contents.lists = resident.record(segments, Resubmission::kWhenFinished);
  std::vector<CommandList*> lists;
  for (CommandList& list : contents.lists) lists.push_back(&list);
  const std::shared_ptr<Run> run = resident.submit(lists, std::move(contents), uses);
  resident.wait_for(*run);
  resident.finish(0);  // the resident keeps nothing of this as being in flight
  return forms;
}

std::shared_ptr<const PackedOperand> pack_resident(Resident& resident, const PackRequest& request,
                                                   const StoredOperand& stored,
                                                   std::uint64_t context) {
  auto packed = std::make_shared<PackedOperand>(
      PackedOperand{.shape = shape_of(request.call.problem, request.operand),
                    .context = context,
                    .device = resident.device(),
                    .forms = {},
                    .kernel = {}});
  if (packed->shape.rows == 0 || packed->shape.columns == 0) return packed;
  PackingPlan plan = plan_packing(
      resident.ranking(), resident.device()->profile().limits, expected_problems(request),
      request.operand, [&](const CandidateRecord& candidate, const Signature& signature) {
        return resident.kernels().certified(candidate, signature);
      });
  if (plan.panels.empty()) plan.stored = true;  // the plain kernel reads it
  packed->forms = pack_forms(resident, stored, request.operand, plan);
  packed->kernel = plan.kernel.empty() ? short_name(fallback_variant()) : plan.kernel;
  return packed;
}

std::uint64_t device_bytes(const PackedOperand& packed) {
  std::uint64_t bytes = 0;
  for (const PackedForm& form : packed.forms)
    for (const auto& memory : {form.values, form.scales, form.zero_points})
      if (memory != nullptr) bytes += memory->buffer.allocated_bytes();
  return bytes;
}

}  // namespace rooftile
