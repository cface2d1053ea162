#include <chrono>
#include <memory>

#include "bench/baselines/baseline.h"
#include "bench/baselines/opencl_device.h"
#include "core/error.h"
#include "core/half.h"

namespace rooftile {
namespace {

using opencl::OwnedEvent;
using opencl::Status;

class ClblastBaseline : public Baseline {
 public:
  explicit ClblastBaseline(const BaselineSetting& setting)
      : clblast_(setting.library), accelerator_(setting) {}
  ~ClblastBaseline() override { clblast_.clear_cache(); }

  std::string name() const override { return "clblast"; }
  std::string library() const override { return fmt::format("CLBlast ({})", clblast_.file); }
  std::string device() const override { return accelerator_.name; }
  std::string clock() const override {
    return profiled_ ? "OpenCL profiling, its packing included"
                     : "wall clock around clFinish, its packing included";
  }

  void load(const Problem& p, std::size_t sets) override {
    sets_.clear();
    expect_plain_product("CLBlast", p);
    const bool f32 = p.types == Types{};
    const bool f16 = p.types == Types{.a = DataType::kF16, .c = DataType::kF16, .sums = Sums::kF16};
    if (!f32 && !f16)
      fail(ErrorCode::kUnsupported,
           "CLBlast has no {}: only f32, and f16_f16_sum_f16 (it adds half precision in half "
           "precision)",
           to_string(p.types));
    problem_ = p;
    const std::vector<char> nan(static_cast<std::size_t>(span_c(p) * bytes_of(p.types.c)), '\xff');
    std::vector<std::unique_ptr<Set>> loaded;  // Freed by the exception when memory is short.
    for (std::size_t i = 0; i < sets; ++i) {
      loaded.push_back(std::make_unique<Set>(accelerator_, p));
      loaded.back()->c.upload(nan.data());
    }
    sets_ = std::move(loaded);
  }
  void upload(std::size_t set, const void* a, const void* b) override {
    sets_.at(set)->a.upload(a);
    sets_.at(set)->b.upload(b);
  }
  double run(std::size_t set) override {
    if (profiled_) {
      if (const double ns = profiled_ns(*sets_.at(set)); ns > 0) return ns;
      profiled_ = false;  // The driver does not time markers.
    }
    const auto start = std::chrono::steady_clock::now();
    accelerator_.check(multiply(*sets_.at(set)), "CLBlast's GEMM");
    accelerator_.check(accelerator_.loader.finish(accelerator_.queue), "clFinish");
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
        .count();
  }
  std::vector<char> result(std::size_t set) override { return sets_.at(set)->c.download(); }

 private:
  struct Set {
    Set(const opencl::Accelerator& accelerator, const Problem& p)
        : a(accelerator, span_a(p) * bytes_of(p.types.a)),
          b(accelerator, span_b(p) * bytes_of(p.types.a)),
          c(accelerator, span_c(p) * bytes_of(p.types.c)) {}
    opencl::DeviceMemory a, b, c;
  };

  // The time is taken between two markers, because CLBlast returns the event of its last kernel
  // only, and up to three padding or transposing kernels run before it. The first marker waits for
  // a user event, so that all work is queued before the device begins. 0 means that there is no
  // profile.
  double profiled_ns(const Set& operands) const {
    const opencl::Loader& cl = accelerator_.loader;
    OwnedEvent gate(accelerator_), start(accelerator_), end(accelerator_);
    Status status = 0;
    gate.event = cl.create_user_event(accelerator_.context, &status);
    accelerator_.check(status, "clCreateUserEvent");
    const Status held = cl.enqueue_marker(accelerator_.queue, 1, &gate.event, &start.event);
    const Status multiplied = multiply(operands);
    const Status ended = cl.enqueue_marker(accelerator_.queue, 0, nullptr, &end.event);
    cl.flush(accelerator_.queue);
    const Status opened = cl.set_user_event(gate.event, opencl::kComplete);
    const Status done = cl.finish(accelerator_.queue);
    accelerator_.check(held, "clEnqueueMarkerWithWaitList");
    accelerator_.check(multiplied, "CLBlast's GEMM");
    accelerator_.check(ended, "clEnqueueMarkerWithWaitList");
    accelerator_.check(opened, "clSetUserEventStatus");
    accelerator_.check(done, "clFinish");
    std::uint64_t from = 0, to = 0;
    if (cl.profiling_info(start.event, opencl::kCommandEnd, sizeof from, &from, nullptr) != 0 ||
        cl.profiling_info(end.event, opencl::kCommandEnd, sizeof to, &to, nullptr) != 0 ||
        to <= from)
      return 0;
    return static_cast<double>(to - from);
  }

  Status multiply(const Set& operands) const {
    if (problem_.types.a == DataType::kF32)
      return multiply(operands, clblast_.sgemm, clblast_.sgemm_batched,
                      static_cast<float>(problem_.alpha), 0.0f);
    return multiply(operands, clblast_.hgemm, clblast_.hgemm_batched,
                    to_f16(static_cast<float>(problem_.alpha)), to_f16(0));
  }
  template <typename Scalar>
  Status multiply(const Set& x, opencl::Gemm<Scalar>* gemm,
                  opencl::GemmStridedBatched<Scalar>* batched, Scalar alpha, Scalar beta) const {
    const Problem& p = problem_;
    const auto transpose = [](Transpose t) {
      return t == Transpose::kYes ? opencl::kTransposed : opencl::kAsStored;
    };
    const auto size = [](std::int64_t value) { return static_cast<std::size_t>(value); };
    opencl::Queue queue = accelerator_.queue;
    if (p.batch == 1)
      return gemm(opencl::kRowMajor, transpose(p.trans_a), transpose(p.trans_b), size(p.m),
                  size(p.n), size(p.k), alpha, x.a.memory, 0, size(p.lda), x.b.memory, 0,
                  size(p.ldb), beta, x.c.memory, 0, size(p.ldc), &queue, nullptr);
    return batched(opencl::kRowMajor, transpose(p.trans_a), transpose(p.trans_b), size(p.m),
                   size(p.n), size(p.k), alpha, x.a.memory, 0, size(p.lda), size(p.stride_a),
                   x.b.memory, 0, size(p.ldb), size(p.stride_b), beta, x.c.memory, 0, size(p.ldc),
                   size(p.stride_c), size(p.batch), &queue, nullptr);
  }

  const opencl::Clblast clblast_;
  const opencl::Accelerator accelerator_;
  bool profiled_ = true;
  Problem problem_;
  std::vector<std::unique_ptr<Set>> sets_;
};

}  // namespace

std::unique_ptr<Baseline> open_clblast(const BaselineSetting& setting) {
  return std::make_unique<ClblastBaseline>(setting);
}

}  // namespace rooftile
