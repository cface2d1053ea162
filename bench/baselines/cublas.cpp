#include <memory>

#include "bench/baselines/baseline.h"
#include "bench/baselines/cuda_device.h"
#include "bench/contests/stream_gate.h"
#include "core/error.h"
#include "core/half.h"

namespace rooftile {
namespace {

using cuda::Status;

cuda::DataType cuda_type(DataType type) {
  switch (type) {
    case DataType::kF16:
      return cuda::kF16;
    case DataType::kBf16:
      return cuda::kBf16;
    case DataType::kI8:
      return cuda::kI8;
    case DataType::kI32:
      return cuda::kI32;
    case DataType::kF64:
      return cuda::kF64;
    default:
      return cuda::kF32;
  }
}

/// alpha or beta in the compute type.
struct Scalar {
  Scalar(cuda::ComputeType compute, double value) {
    const auto single = static_cast<float>(value);
    if (compute == cuda::kSumF16) f16 = to_f16(single);
    if (compute == cuda::kSumF32 || compute == cuda::kSumTf32) f32 = single;
    if (compute == cuda::kSumF64) f64 = value;
    if (compute == cuda::kSumI32) i32 = static_cast<std::int32_t>(value);
  }
  union {
    std::uint16_t f16;
    float f32;
    double f64;
    std::int32_t i32;
  };
};

class CublasBaseline : public Baseline {
 public:
  explicit CublasBaseline(const BaselineSetting& setting)
      : cublas_(setting.library), gpu_(setting.device_uuid), start_(gpu_), end_(gpu_) {
    check(cublas_.create(&handle_), "cublasCreate");
    check(cublas_.set_stream(handle_, gpu_.stream), "cublasSetStream");
    // The default mode does not use TF32. Partial sums of 16-bit operands are float32, as in
    // Rooftile.
    check(cublas_.set_math_mode(handle_, cuda::kDefaultMath | cuda::kNoReducedPrecisionReduction),
          "cublasSetMathMode");
  }
  ~CublasBaseline() override { cublas_.destroy(handle_); }

  std::string name() const override { return "cublas"; }
  std::string library() const override {
    int version = 0;
    check(cublas_.version(handle_, &version), "cublasGetVersion");
    return fmt::format("cuBLAS {}.{}.{} ({})", version / 10000, version / 100 % 100, version % 100,
                       cublas_.file);
  }
  std::string device() const override { return gpu_.name; }
  std::string clock() const override { return "CUDA events"; }

  void load(const Problem& p, std::size_t sets) override {
    sets_.clear();
    expect_plain_product("cuBLAS", p);
    compute_ = compute_type(p.types);
    problem_ = p;
    std::vector<std::unique_ptr<Set>> loaded;  // Freed by the exception when memory is short.
    for (std::size_t i = 0; i < sets; ++i) {
      loaded.push_back(std::make_unique<Set>(gpu_, p));
      loaded.back()->c.fill(0xff);
    }
    sets_ = std::move(loaded);
  }
  void upload(std::size_t set, const void* a, const void* b) override {
    sets_.at(set)->a.upload(a);
    sets_.at(set)->b.upload(b);
  }
  double run(std::size_t set) override {
    const Set& operands = *sets_.at(set);
    gate_.close();
    const Status held = gpu_.driver.launch_host_function(gpu_.stream, &StreamGate::wait, &gate_);
    const Status started = gpu_.driver.event_record(start_.event, gpu_.stream);
    const Status multiplied = multiply(operands);
    const Status ended = gpu_.driver.event_record(end_.event, gpu_.stream);
    gate_.open();
    const Status done = gpu_.driver.stream_synchronize(gpu_.stream);
    gpu_.check(held, "cuLaunchHostFunc");
    gpu_.check(started, "cuEventRecord");
    check(multiplied, "cublasGemmEx");
    gpu_.check(ended, "cuEventRecord");
    gpu_.check(done, "cuStreamSynchronize");
    float ms = 0;
    gpu_.check(gpu_.driver.event_elapsed_ms(&ms, start_.event, end_.event), "cuEventElapsedTime");
    return static_cast<double>(ms) * 1e6;
  }
  std::vector<char> result(std::size_t set) override { return sets_.at(set)->c.download(); }

 private:
  struct Set {
    Set(const cuda::Gpu& gpu, const Problem& p)
        : a(gpu, span_a(p) * bytes_of(p.types.a)),
          b(gpu, span_b(p) * bytes_of(p.types.a)),
          c(gpu, span_c(p) * bytes_of(p.types.c)) {}
    cuda::DeviceMemory a, b, c;
  };

  // Follows cublasGemmEx's table of types, with sums as exact as Rooftile's.
  static cuda::ComputeType compute_type(const Types& t) {
    if (is_float64(t)) return cuda::kSumF64;
    const bool is_float = !is_8_bit(t.a) && t.c != DataType::kI32;
    if (t.sums == Sums::kF16 && t.a == DataType::kF16 && t.c == DataType::kF16)
      return cuda::kSumF16;
    // The same bound as precision half: two factors of 11 bits each.
    if (t == Types{.rounding = Rounding::kHalf}) return cuda::kSumTf32;
    if (is_float && t.rounding == Rounding::kNone && t.sums == Sums::kUsual &&
        (t.c == DataType::kF32 || t.c == t.a))
      return cuda::kSumF32;
    if (t.a == DataType::kI8 && t.c == DataType::kI32) return cuda::kSumI32;
    fail(ErrorCode::kUnsupported,
         "cuBLAS has no {}: only f32, f32_half (as tf32), f64, f16, bf16, f16_f16, bf16_bf16, "
         "f16_f16_sum_f16 and "
         "i8_i32",
         to_string(t));
  }

  void check(Status status, const char* function) const {
    if (status == 0) return;
    const char* text = status == cuda::kNotInitialized
                           ? "not initialised; is the driver too old for the library?"
                       : status == cuda::kNotSupported ? "these types or ld are not supported"
                       : status == cuda::kInvalidValue ? "invalid argument"
                                                       : "see cublasStatus_t";
    fail(status == cuda::kNotSupported  ? ErrorCode::kUnsupported
         : status == cuda::kAllocFailed ? ErrorCode::kOutOfMemory
                                        : ErrorCode::kDevice,
         "{} of {} failed on {} with status {}: {}", function, cublas_.file, gpu_.name, status,
         text);
  }

  // Column-major C^T = op(B)^T op(A)^T is the same memory with the operands swapped.
  Status multiply(const Set& x) const {
    const Problem& p = problem_;
    const auto operation = [](Transpose t) {
      return t == Transpose::kYes ? cuda::kTransposed : cuda::kAsStored;
    };
    const auto size = [](std::int64_t value) { return static_cast<int>(value); };
    const Scalar alpha(compute_, p.alpha), beta(compute_, 0);
    const cuda::DataType type_ab = cuda_type(p.types.a), type_c = cuda_type(p.types.c);
    if (p.batch == 1)
      return cublas_.gemm(handle_, operation(p.trans_b), operation(p.trans_a), size(p.n), size(p.m),
                          size(p.k), &alpha, x.b.address, type_ab, size(p.ldb), x.a.address,
                          type_ab, size(p.lda), &beta, x.c.address, type_c, size(p.ldc), compute_,
                          cuda::kDefaultAlgorithm);
    return cublas_.gemm_strided_batched(
        handle_, operation(p.trans_b), operation(p.trans_a), size(p.n), size(p.m), size(p.k),
        &alpha, x.b.address, type_ab, size(p.ldb), p.stride_b, x.a.address, type_ab, size(p.lda),
        p.stride_a, &beta, x.c.address, type_c, size(p.ldc), p.stride_c, size(p.batch), compute_,
        cuda::kDefaultAlgorithm);
  }

  const cuda::Cublas cublas_;
  const cuda::Gpu gpu_;
  const cuda::TimedEvent start_, end_;
  cuda::Handle handle_ = nullptr;
  StreamGate gate_;
  Problem problem_;
  cuda::ComputeType compute_ = cuda::kSumF32;
  std::vector<std::unique_ptr<Set>> sets_;
};

}  // namespace

std::unique_ptr<Baseline> open_cublas(const BaselineSetting& setting) {
  return std::make_unique<CublasBaseline>(setting);
}

}  // namespace rooftile
