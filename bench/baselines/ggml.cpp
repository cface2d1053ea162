// ggml's Vulkan back end as a baseline: a graph of one product of weights (n x k) and rows of A.
#include "bench/baselines/baseline.h"
#include "bench/baselines/ggml_api.h"
#include "core/error.h"

namespace rooftile {
namespace {

class GgmlBaseline : public Baseline {
 public:
  explicit GgmlBaseline(const BaselineSetting& setting) : device_(setting.library) {}

  std::string name() const override { return "ggml"; }
  std::string library() const override { return device_.version(); }
  std::string device() const override { return device_.name(); }
  std::string clock() const override { return "wall clock around ggml_backend_graph_compute"; }

  void load(const Problem& p, std::size_t sets) override {
    sets_.clear();
    buffer_.reset();
    Problem plain = p;
    plain.types.b = {};
    expect_plain_product("ggml", plain);
    if (p.trans_a == Transpose::kYes || p.trans_b == Transpose::kNo || p.batch > 1 || p.alpha != 1)
      fail(ErrorCode::kUnsupported,
           "ggml is run with A as stored, B transposed, no batch, and alpha 1");
    const int type = ggml::type_of_b(p.types);
    const ggml::Api& api = device_.api();
    problem_ = p;
    context_ = device_.context(3 * sets, sets);
    for (std::size_t i = 0; i < sets; ++i) {
      Set set = {.a = api.new_tensor_2d(context_.get(), ggml::kF32, p.k, p.m),
                 .b = api.new_tensor_2d(context_.get(), type, p.k, p.n)};
      set.c = api.mul_mat(context_.get(), set.b, set.a);
      set.graph = api.new_graph(context_.get());
      api.build_forward_expand(set.graph, set.c);
      sets_.push_back(set);
    }
    buffer_ = device_.allocate(context_.get());
    const std::vector<char> nan(api.nbytes(sets_.front().c), '\xff');
    for (const Set& set : sets_) api.backend_tensor_set(set.c, nan.data(), 0, nan.size());
  }

  void upload(std::size_t set, const void* a, const void* b) override {
    const Problem& p = problem_;
    upload_rows(sets_.at(set).a, a, p.m, p.k * bytes_of(p.types.a), p.lda * bytes_of(p.types.a));
    upload_rows(sets_.at(set).b, b, p.n, bytes(p.k), bytes(p.ldb));
  }

  double run(std::size_t set) override { return device_.compute(sets_.at(set).graph); }

  std::vector<char> result(std::size_t set) override {
    const ggml::Api& api = device_.api();
    const Problem& p = problem_;
    const auto row = static_cast<std::size_t>(p.n * bytes_of(p.types.c));
    std::vector<char> c(static_cast<std::size_t>(span_c(p) * bytes_of(p.types.c)));
    for (std::int64_t i = 0; i < p.m; ++i)
      api.backend_tensor_get(sets_.at(set).c, c.data() + i * p.ldc * bytes_of(p.types.c),
                             static_cast<std::size_t>(i) * row, row);
    return c;
  }

 private:
  struct Set {
    ggml::Tensor* a = nullptr;
    ggml::Tensor* b = nullptr;
    ggml::Tensor* c = nullptr;
    ggml::Graph* graph = nullptr;
  };

  /// Of this many elements of a row of B.
  std::int64_t bytes(std::int64_t elements) const {
    return quantized(problem_.types) ? bytes_of_b(problem_.types, elements)
                                     : elements * bytes_of(problem_.types.a);
  }
  /// ggml's rows lie one behind the other.
  void upload_rows(ggml::Tensor* to, const void* from, std::int64_t rows, std::int64_t bytes,
                   std::int64_t stride) const {
    for (std::int64_t i = 0; i < rows; ++i)
      device_.api().backend_tensor_set(to, static_cast<const char*>(from) + i * stride,
                                       static_cast<std::size_t>(i * bytes),
                                       static_cast<std::size_t>(bytes));
  }

  const ggml::Device device_;
  Problem problem_;
  ggml::Owned<ggml::Context> context_{nullptr, nullptr};
  ggml::Owned<ggml::BackendBuffer> buffer_{nullptr, nullptr};
  std::vector<Set> sets_;
};

}  // namespace

std::unique_ptr<Baseline> open_ggml(const BaselineSetting& setting) {
  return std::make_unique<GgmlBaseline>(setting);
}

}  // namespace rooftile
