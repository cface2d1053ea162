// libggml-vulkan.so on the host: products of float32 rows with float32 or quantised weights, in
// float64. fake_ggml_spoil injects an error, fake_ggml_fail makes graphs fail.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "core/block_format.h"

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

double spoilt_by = 0;  // added to the last element
int status_of_graphs = 0;

struct Tensor {
  int type = 0;
  std::int64_t columns = 0, rows = 0;
  Tensor* weights = nullptr;
  Tensor* x = nullptr;
  std::vector<char> data;

  std::size_t row_bytes() const {
    const std::size_t elements = static_cast<std::size_t>(columns);
    return type == 12 ? elements / 256 * 144 : type == 8 ? elements / 32 * 34 : elements * 4;
  }
};
struct Graph {
  Tensor* result = nullptr;
};
struct Context {
  std::vector<std::unique_ptr<Tensor>> tensors;
  std::vector<std::unique_ptr<Graph>> graphs;
};
struct InitParams {
  std::size_t mem_size;
  void* mem_buffer;
  bool no_alloc;
};

std::vector<float> row_of(const Tensor& t, std::int64_t row) {
  std::vector<float> values(static_cast<std::size_t>(t.columns));
  const char* const from = t.data.data() + static_cast<std::size_t>(row) * t.row_bytes();
  const auto blocks = reinterpret_cast<const std::uint8_t*>(from);
  if (t.type == 12)
    rooftile::dequantize_blocks(rooftile::BlockFormat::kQ4_K, blocks, t.columns / 256,
                                values.data());
  else if (t.type == 8)
    rooftile::dequantize_blocks(rooftile::BlockFormat::kQ8_0, blocks, t.columns / 32,
                                values.data());
  else
    std::memcpy(values.data(), from, t.row_bytes());
  return values;
}

int only_backend;

}  // namespace

FAKE const char* ggml_version() { return "0.1.2"; }
FAKE const char* ggml_commit() { return "abcdef"; }
FAKE Context* ggml_init(InitParams) { return new Context; }
FAKE void ggml_free(Context* context) { delete context; }
FAKE std::size_t ggml_tensor_overhead() { return 1; }
FAKE std::size_t ggml_graph_overhead() { return 1; }
FAKE std::size_t ggml_nbytes(const Tensor* t) {
  return t->row_bytes() * static_cast<std::size_t>(t->rows);
}
FAKE Tensor* ggml_new_tensor_2d(Context* context, int type, std::int64_t columns,
                                std::int64_t rows) {
  context->tensors.push_back(std::make_unique<Tensor>());
  Tensor* const made = context->tensors.back().get();
  made->type = type, made->columns = columns, made->rows = rows;
  return made;
}
FAKE Tensor* ggml_mul_mat(Context* context, Tensor* weights, Tensor* x) {
  Tensor* const made = ggml_new_tensor_2d(context, 0, weights->rows, x->rows);
  made->weights = weights, made->x = x;
  return made;
}
FAKE Graph* ggml_new_graph(Context* context) {
  context->graphs.push_back(std::make_unique<Graph>());
  return context->graphs.back().get();
}
FAKE void ggml_build_forward_expand(Graph* graph, Tensor* result) { graph->result = result; }
FAKE void* ggml_backend_alloc_ctx_tensors(Context* context, void*) {
  for (const auto& t : context->tensors) t->data.resize(ggml_nbytes(t.get()));
  return &only_backend;
}
FAKE void ggml_backend_buffer_free(void*) {}
FAKE void ggml_backend_tensor_set(Tensor* t, const void* from, std::size_t offset,
                                  std::size_t bytes) {
  std::memcpy(t->data.data() + offset, from, bytes);
}
FAKE void ggml_backend_tensor_get(const Tensor* t, void* to, std::size_t offset,
                                  std::size_t bytes) {
  std::memcpy(to, t->data.data() + offset, bytes);
}
FAKE int ggml_backend_graph_compute(void*, Graph* graph) {
  Tensor& y = *graph->result;
  for (std::int64_t i = 0; i < y.rows; ++i)
    for (std::int64_t j = 0; j < y.columns; ++j) {
      const std::vector<float> a = row_of(*y.x, i), b = row_of(*y.weights, j);
      double sum = 0;
      for (std::size_t p = 0; p < a.size(); ++p) sum += double{a[p]} * double{b[p]};
      if (i == y.rows - 1 && j == y.columns - 1) sum += spoilt_by;
      const auto value = static_cast<float>(sum);
      std::memcpy(y.data.data() + static_cast<std::size_t>(i * y.columns + j) * 4, &value, 4);
    }
  return status_of_graphs;
}
FAKE void ggml_backend_free(void*) {}
FAKE void* ggml_backend_vk_init(std::size_t) { return &only_backend; }
FAKE int ggml_backend_vk_get_device_count() { return 1; }
FAKE void ggml_backend_vk_get_device_description(int, char* text, std::size_t size) {
  std::snprintf(text, size, "Fake device");
}
FAKE void fake_ggml_spoil(double by) { spoilt_by = by; }
FAKE void fake_ggml_fail(int status) { status_of_graphs = status; }
