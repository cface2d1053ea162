#include "runtime/execute/device_product.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "core/error.h"
#include "generator/layout.h"
#include "runtime/call/packed_operand.h"
#include "runtime/execute/imported_operand.h"
#include "runtime/execute/staged_operand.h"
#include "runtime/kernel/step_time.h"
#include "runtime/model/transfer.h"
#include "runtime/resident/device_memory.h"

namespace rooftile {
namespace {

/// A, B or C: memory of the caller, of the device, or both.
struct Matrix {
  TransferPath transfer_path = TransferPath::kStaged;  // Transfer path to the kernel.
  std::optional<ImportedOperand> imported = {};
  std::unique_ptr<DeviceInput> own = {};
  const Buffer* packed = nullptr;  // Set if the operand is packed and already on the device.

  const Buffer* kernel_side() const {
    if (packed != nullptr) return packed;
    return transfer_path == TransferPath::kInPlace ? &imported->buffer() : own->device();
  }
  BufferRange imported_range(std::uint64_t size) const {
    return {&imported->buffer(), imported->offset_bytes(), size};
  }
  std::int64_t offset(DataType type) const {
    return transfer_path == TransferPath::kInPlace
               ? static_cast<std::int64_t>(imported->offset_bytes()) / bytes_of(type)
               : 0;
  }
};

/// Transfer paths of operands that may be imported. Matrices behind an array of pointers may lie
/// anywhere and are not imported.
TransferPaths transfer_paths_of(const GemmCall& call, const SpotCheck* check,
                                const DeviceProfile& profile, const DeviceRates& rates) {
  const OperandPlaces places = {
      .c_is_checked = check != nullptr,
      .max_binding_bytes = static_cast<double>(profile.limits.max_storage_buffer_range_bytes)};
  TransferPaths transfer_paths = transfers(call.problem, places, rates).transfer_paths;
  const bool reads = kernel_problem(call.problem).k > 0;
  if (call.a_array != nullptr || !reads) transfer_paths.a = TransferPath::kStaged;
  if (call.b_array != nullptr || !reads) transfer_paths.b = TransferPath::kStaged;
  if (call.c_array != nullptr) transfer_paths.c_in = transfer_paths.c_out = TransferPath::kStaged;
  return transfer_paths;
}

bool in_place(TransferPath transfer_path, const void* at, std::int64_t alignment) {
  return transfer_path == TransferPath::kInPlace &&
         reinterpret_cast<std::uintptr_t>(at) % static_cast<std::uintptr_t>(alignment) == 0;
}

std::uint64_t span_bytes(std::int64_t elements, DataType type) {
  return static_cast<std::uint64_t>(elements * bytes_of(type));
}

/// Returns the layout of the call's packed operand that this kernel reads; null when there is none,
/// or when the operand is not read.
const PackedForm* form_for(const GemmCall& call, const Kernel& kernel) {
  if (call.packed == nullptr || !reads_operands(call.problem)) return nullptr;
  const PackedForm* const panels =
      call.packed->panels_for(kernel.variant(), kernel_problem(call.problem));
  return panels != nullptr ? panels : call.packed->stored();
}

}  // namespace

struct DeviceProduct::Impl {
  Impl(const DeviceLink& device_link, std::shared_ptr<const Kernel> of_kernel, double expected_ns,
       const GemmCall& of_call, const SpotCheck* of_check);
  ~Impl() { end_current(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  bool is_packed(Operand operand) const {
    return form != nullptr && call.packed->shape.operand == operand;
  }
  const Buffer* panels(Operand operand) const {
    return is_packed(operand) && form->panels ? &form->values->buffer : nullptr;
  }
  void import_operands();
  /// Sets up the problem with the final placement of every operand.
  void lay_out();
  void try_import(Matrix& matrix, TransferPath transfer_path, const void* at, std::uint64_t size,
                  std::int64_t alignment) const;
  void stage_inputs();
  void stage_c();
  void put(const DeviceInput& target, Extent extent, DataType type, const void* from,
           std::int64_t ld, std::int64_t offset, std::int64_t staged_ld) const;
  std::vector<Step> copies_in() const;
  void record();
  void start_next();
  void end_current() noexcept;
  bool imports() const { return a.imported || b.imported || c.imported; }

  const DeviceLink link;
  const std::shared_ptr<const Kernel> kernel;
  const GemmCall call;
  const SpotCheck* const check;
  const Problem staged;  // With all operands in the device's own buffers.
  const StagedBytes bytes;
  const double timeout_ns;

  // Layout of a packed operand that this kernel reads; null: there is none.
  const PackedForm* const form;
  Matrix a, b, c;
  TransferPath c_out = TransferPath::kStaged;
  Problem problem;  // As the kernel receives it.
  Placement placement;
  GemmPlan plan;
  std::optional<StagedEpilogue> epilogue;
  std::optional<StagedQuantization> quantization;
  std::unique_ptr<PooledBuffer> packed_a, packed_b, parts, download;

  // Each is short enough for an operating system's watchdog.
  std::vector<std::vector<Step>> submissions;
  std::size_t started = 0;
  CommandList list;
  Submission submission;
};

BoundOperands bound_operands(const GemmCall& call, const DeviceProfile& profile,
                             const DeviceRates& rates) {
  const Problem& p = call.problem;
  const TransferPaths transfer_paths =
      transfer_paths_of(call, nullptr, profile, rates);  // A check concerns C only.
  const auto bound = [&](Operand operand, TransferPath transfer_path, const void* at,
                         std::int64_t elements) {
    const bool packed = call.packed != nullptr && call.packed->shape.operand == operand;
    if (!packed && at != nullptr && in_place(transfer_path, at, load_bytes(p.types.a)))
      if (const auto pages =
              ImportedOperand::pages(profile.limits, at, span_bytes(elements, p.types.a)))
        return BoundOperand{pages->end - pages->begin, pages->reachable_bytes};
    return BoundOperand{};
  };
  BoundOperands operands = {.a = bound(Operand::kA, transfer_paths.a, call.a, span_a(p))};
  if (!quantized(p.types)) operands.b = bound(Operand::kB, transfer_paths.b, call.b, span_b(p));
  return operands;
}

DeviceProduct::Impl::Impl(const DeviceLink& device_link, std::shared_ptr<const Kernel> of_kernel,
                          double expected_ns, const GemmCall& of_call, const SpotCheck* of_check)
    : link(device_link),
      kernel(std::move(of_kernel)),
      call(of_call),
      check(of_check),
      staged(kernel_problem(call.problem)),
      bytes(staged_bytes(staged)),
      timeout_ns(hang_ns(std::min(expected_ns, kStepNs))),
      form(form_for(call, *kernel)) {
  if (form != nullptr && call.packed->device != link.device)
    fail(ErrorCode::kInvalidArgument, "the operand was packed for another device");
  if (is_packed(Operand::kA))
    a = {.transfer_path = TransferPath::kNone, .packed = &form->values->buffer};
  if (is_packed(Operand::kB))
    b = {.transfer_path = TransferPath::kNone, .packed = &form->values->buffer};
  import_operands();
  lay_out();
  if (illegal_reason(kernel->variant(), link.device->profile().limits, problem, placement)) {
    // A copy removes what makes the caller's memory illegal for the kernel, such as an address
    // beyond 32 bits.
    for (Matrix* matrix : {&a, &b, &c})
      if (matrix->transfer_path == TransferPath::kInPlace) *matrix = {};
    if (c_out == TransferPath::kInPlace) c_out = TransferPath::kStaged;
    lay_out();
  }
  const double steps = expected_ns * slowness(kernel->variant(), problem.types) / kStepNs;
  plan = steps > 1 ? kernel->plan(problem, placement, flops(problem) / steps)
                   : kernel->plan(problem, placement);
  if (form != nullptr && form->panels)
    plan = without_packing(std::move(plan), call.packed->shape.operand);
  stage_inputs();
  const auto workspace_of = [&](std::int64_t words) {
    return words == 0 ? nullptr
                      : std::make_unique<PooledBuffer>(
                            link.pool, static_cast<std::uint64_t>(words) * sizeof(std::uint32_t),
                            BufferUse::kDevice);
  };
  packed_a = workspace_of(plan.packed_a_words);
  packed_b = workspace_of(plan.packed_b_words);
  parts = workspace_of(plan.part_words);
  if (c_out == TransferPath::kStaged && !link.profile.unified_memory)
    download = std::make_unique<PooledBuffer>(link.pool, bytes.c, BufferUse::kDownload);
  record();
  for (const Matrix* matrix : {&a, &b, &c})
    if (matrix->imported) link.imports.fetch_add(1, std::memory_order_relaxed);
}

void DeviceProduct::Impl::try_import(Matrix& matrix, TransferPath transfer_path, const void* at,
                                     std::uint64_t size, std::int64_t alignment) const {
  if (transfer_path != TransferPath::kCopied && transfer_path != TransferPath::kInPlace) return;
  if (transfer_path == TransferPath::kInPlace && !in_place(transfer_path, at, alignment)) return;
  matrix.imported = ImportedOperand::of(*link.device, at, size);
  if (matrix.imported) matrix.transfer_path = transfer_path;
}

void DeviceProduct::Impl::import_operands() {
  const TransferPaths transfer_paths = transfer_paths_of(call, check, link.profile, link.rates);
  const Problem& p = call.problem;
  if (!is_packed(Operand::kA))
    try_import(a, transfer_paths.a, call.a, span_bytes(span_a(p), p.types.a),
               load_bytes(p.types.a));
  if (!quantized(p.types) && !is_packed(Operand::kB))
    try_import(b, transfer_paths.b, call.b, span_bytes(span_b(p), p.types.a),
               load_bytes(p.types.a));
  const bool reads_c = p.beta != 0.0f;
  const TransferPath way_c = reads_c ? transfer_paths.c_in : transfer_paths.c_out;
  try_import(c, way_c, call.c, span_bytes(span_c(p), p.types.c), bytes_of(p.types.c));
  for (const Matrix* read : {&a, &b})
    if (read->imported && c.imported && c.imported->shares_pages(*read->imported)) c = {};
  if (!reads_c && c.imported) c_out = way_c;
}

void DeviceProduct::Impl::lay_out() {
  problem = staged;
  const Problem& p = call.problem;
  if (a.transfer_path == TransferPath::kInPlace) problem.lda = p.lda, problem.stride_a = p.stride_a;
  if (b.transfer_path == TransferPath::kInPlace) problem.ldb = p.ldb, problem.stride_b = p.stride_b;
  if (c.transfer_path == TransferPath::kInPlace) problem.ldc = p.ldc, problem.stride_c = p.stride_c;
  if (is_packed(Operand::kA) && !form->panels) problem.lda = form->ld;
  if (is_packed(Operand::kB) && !form->panels) problem.ldb = form->ld;
  placement = own_buffers(problem);
  placement.offset_a = a.offset(p.types.a);
  placement.offset_b = b.offset(p.types.a);
  placement.offset_c = c.offset(p.types.c);
}

void DeviceProduct::Impl::put(const DeviceInput& target, Extent extent, DataType type,
                              const void* from, std::int64_t ld, std::int64_t offset,
                              std::int64_t staged_ld) const {
  copy_matrix(extent, type, from, ld, static_cast<char*>(target.host()) + offset * bytes_of(type),
              staged_ld);
}

void DeviceProduct::Impl::stage_inputs() {
  const auto own = [&](Matrix& matrix, std::uint64_t size, bool by_host) {
    using enum DeviceInput::Filled;
    if (matrix.transfer_path != TransferPath::kInPlace && matrix.packed == nullptr)
      matrix.own = std::make_unique<DeviceInput>(link, size, by_host ? kByHost : kByDevice);
  };
  own(a, bytes.a, a.transfer_path == TransferPath::kStaged);
  own(b, bytes.b, b.transfer_path == TransferPath::kStaged);
  own(c, bytes.c, staged.beta != 0.0f && c.transfer_path == TransferPath::kStaged);
  const Problem& p = call.problem;
  for (std::int64_t i = 0; i < staged.batch; ++i) {
    if (a.transfer_path == TransferPath::kStaged && (i == 0 || staged.stride_a != 0))
      put(*a.own, stored_a(staged), p.types.a, call.a_of(i), p.lda, i * staged.stride_a,
          staged.lda);
    if (b.transfer_path == TransferPath::kStaged && !quantized(p.types) &&
        (i == 0 || staged.stride_b != 0))
      put(*b.own, stored_b(staged), p.types.a, call.b_of(i), p.ldb, i * staged.stride_b,
          staged.ldb);
  }
  epilogue.emplace(link, call, placement);
  if (!is_packed(Operand::kB)) quantization.emplace(link, call, staged, b.own.get());
}

void DeviceProduct::Impl::stage_c() {
  if (staged.beta == 0.0f || c.transfer_path != TransferPath::kStaged) return;
  for (std::int64_t i = 0; i < staged.batch; ++i)
    put(*c.own, {staged.m, staged.n}, staged.types.c, call.c_of(i), call.problem.ldc,
        i * staged.stride_c, staged.ldc);
}

std::vector<Step> DeviceProduct::Impl::copies_in() const {
  std::vector<Step> steps;
  const auto copy = [&](const Matrix& matrix, std::uint64_t size) {
    if (matrix.transfer_path == TransferPath::kStaged) matrix.own->append_copy(steps);
    if (matrix.transfer_path == TransferPath::kCopied)
      steps.emplace_back(CopyStep{matrix.imported_range(size), {matrix.own->device(), 0, size}});
  };
  const Problem& p = call.problem;
  copy(a, span_bytes(span_a(p), p.types.a));
  copy(b, span_bytes(span_b(p), p.types.a));
  if (staged.beta != 0.0f) copy(c, span_bytes(span_c(p), p.types.c));
  epilogue->append_copies(steps);
  if (quantization) quantization->append_copies(steps);
  if (!steps.empty()) steps.emplace_back(BarrierStep{});
  return steps;
}

// The first submission begins with the copies of operands, the last one ends with the download.
void DeviceProduct::Impl::record() {
  const auto buffer = [](const std::unique_ptr<PooledBuffer>& pooled) {
    return pooled ? &**pooled : nullptr;
  };
  const auto packed_part = [&](const std::shared_ptr<DeviceMemory>& memory) {
    return memory != nullptr ? &memory->buffer : nullptr;
  };
  const Operands operands = {
      .a = a.kernel_side(),
      .b = b.kernel_side(),
      .c = c.kernel_side(),
      .placement = placement,
      .vectors = epilogue->vectors(),
      .residual = epilogue->residual(),
      .scales = quantization ? quantization->scales() : packed_part(form->scales),
      .zero_points = quantization ? quantization->zero_points() : packed_part(form->zero_points)};
  const Buffer* const packed_a_panels = panels(Operand::kA);
  const Buffer* const packed_b_panels = panels(Operand::kB);
  const Workspace workspace = {
      .packed_a = packed_a_panels != nullptr ? packed_a_panels : buffer(packed_a),
      .packed_b = packed_b_panels != nullptr ? packed_b_panels : buffer(packed_b),
      .parts = buffer(parts)};
  submissions = submissions_of(kernel->steps(plan, operands, workspace));
  std::vector<Step> copies = copies_in();
  submissions.front().insert(submissions.front().begin(), std::move_iterator(copies.begin()),
                             std::move_iterator(copies.end()));
  std::vector<Step>& steps = submissions.back();
  const std::uint64_t span_c_bytes = span_bytes(span_c(call.problem), staged.types.c);
  if (download || c_out == TransferPath::kCopied) steps.emplace_back(BarrierStep{});
  if (download)
    steps.emplace_back(CopyStep{{c.own->device(), 0, bytes.c}, {&**download, 0, bytes.c}});
  if (c_out == TransferPath::kCopied)
    steps.emplace_back(
        CopyStep{{c.own->device(), 0, span_c_bytes}, c.imported_range(span_c_bytes)});
}

void DeviceProduct::Impl::start_next() {
  list = link.device->record(submissions[started]);
  ++started;
  CommandList* const lists[] = {&list};
  submission = link.device->submit(lists);
}

void DeviceProduct::Impl::end_current() noexcept {
  try {
    if (!submission.wait(timeout_ns)) link.device->give_up();
    // The device is lost or was given up earlier, so the buffers are not used again.
  } catch (const Error&) {
  }
  // Staging memory is abandoned together with a device that is given up. The caller's memory cannot
  // be abandoned.
  if (imports()) submission.outlast();
}

DeviceProduct::DeviceProduct(const DeviceLink& link, std::shared_ptr<const Kernel> kernel,
                             double expected_ns, const GemmCall& call, const SpotCheck* check)
    : impl_(std::make_unique<Impl>(link, std::move(kernel), expected_ns, call, check)) {}
DeviceProduct::~DeviceProduct() = default;

const GemmCall& DeviceProduct::call() const { return impl_->call; }

void DeviceProduct::read_c() { impl_->stage_c(); }

void DeviceProduct::submit() { impl_->start_next(); }

void DeviceProduct::wait() {
  Impl& impl = *impl_;
  while (true) {
    if (!impl.submission.wait(impl.timeout_ns)) {
      impl.link.device->give_up();
      fail(ErrorCode::kTimeout,
           "a run on {} took more than {:.3g} ms; the device is not used any more{}",
           impl.link.profile.name, impl.timeout_ns * 1e-6,
           impl.imports() ? "; the call whose memory it uses still waits for it" : "");
    }
    if (impl.started == impl.submissions.size()) return;
    impl.start_next();
  }
}

bool DeviceProduct::must_wait_for_device() const noexcept {
  return impl_->imports() && impl_->submission.under_way();
}

std::optional<Mismatch> DeviceProduct::collect() {
  const Impl& impl = *impl_;
  if (impl.c_out != TransferPath::kStaged) return std::nullopt;
  const Problem& staged = impl.staged;
  const auto* const result =
      static_cast<const char*>(impl.download ? (**impl.download).mapped() : impl.c.own->host());
  if (impl.check != nullptr)
    if (auto mismatch = impl.check->mismatch(impl.call, result, staged.ldc, staged.stride_c))
      return mismatch;
  const DataType type = staged.types.c;
  for (std::int64_t i = 0; i < staged.batch; ++i)
    copy_matrix({staged.m, staged.n}, type, result + i * staged.stride_c * bytes_of(type),
                staged.ldc, impl.call.c_of(i), impl.call.problem.ldc);
  return std::nullopt;
}

}  // namespace rooftile
