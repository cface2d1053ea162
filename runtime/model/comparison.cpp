#include "runtime/model/comparison.h"

namespace rooftile {
namespace {

SizedOperation sized(std::string_view name, double elements, DataType type = DataType::kF32) {
  return {.kind = &parse_operation(name), .elements = elements, .type = type};
}

Problem square(std::int64_t n) { return packed_problem(n, n, n); }

/// inputs x weights in half precision.
Problem linear_layer(std::int64_t batch) {
  return retyped(packed_problem(batch, 4096, 1024), {.a = DataType::kF16, .c = DataType::kF16});
}

}  // namespace

std::vector<ComparisonRow> comparison_rows() {
  // The published multiplication counts one array read and one written, which is `scale`. Pooling
  // and ReLU are published without sizes; a million elements make them comparable.
  return {{"element-wise multiply, 16,000 elements", sized("scale", 16e3)},
          {"element-wise multiply, 100,000 elements", sized("scale", 100e3)},
          {"element-wise multiply, 1M elements", sized("scale", 1e6)},
          {"element-wise FMA, 1M elements", sized("fma", 1e6)},
          {"reduction SUM, 1M elements", sized("sum", 1e6)},
          {"radix sort pass, 1M elements", sized("sort_pass", 1e6)},
          {"ReLU activation, f16", sized("relu", 1e6, DataType::kF16)},
          {"max pooling 3x3, stride 1, f16", sized("max_pool", 1e6, DataType::kF16)},
          {"GEMM 64x64", square(64)},
          {"GEMM 128x128", square(128)},
          {"GEMM 256x256", square(256)},
          {"GEMM 512x512", square(512)},
          {"GEMM 1024x1024", square(1024)},
          {"GEMM 2048x2048", square(2048)},
          {"covariance, 500 features", packed_problem(500, 500, 100'000)},
          {"recommendation scores", packed_problem(1000, 10'000, 128)},
          {"linear layer, batch 1, f16", linear_layer(1)},
          {"linear layer, batch 512, f16", linear_layer(512)}};
}

Operation operation_of(const ComparisonRow& row) {
  if (const auto* operation = std::get_if<SizedOperation>(&row.work)) return operation->operation();
  const Problem& p = std::get<Problem>(row.work);
  return {.flops = flops(p), .bytes = minimum_bytes(p)};
}

}  // namespace rooftile
