#include "bench/baselines/ggml_api.h"

#include <fmt/format.h>

#include <array>

#include "core/clock.h"
#include "core/error.h"

namespace rooftile::ggml {

int type_of_b(const Types& types) {
  Types plain = types;
  plain.b = {};
  if (types == Types{}) return kF32;
  if (plain == Types{} && has_block_format(types))
    return static_cast<int>(layout_of(types.b.format).number);
  fail(ErrorCode::kUnsupported,
       "ggml is run with f32, or A in f32 and B in a format of GGUF files, "
       "not with {}",
       to_string(types));
}

Api::Api(const std::string& path)
    : library("ggml's Vulkan back end",
              path.empty() ? std::vector<std::string>{"libggml-vulkan.so", "libggml-vulkan.so.0"}
                           : std::vector<std::string>{path},
              "give the path of libggml-vulkan.so, beside which libggml-base.so lies") {
  library.load(version, "ggml_version");
  library.load(commit, "ggml_commit");
  library.load(init, "ggml_init");
  library.load(free, "ggml_free");
  library.load(tensor_overhead, "ggml_tensor_overhead");
  library.load(graph_overhead, "ggml_graph_overhead");
  library.load(nbytes, "ggml_nbytes");
  library.load(new_tensor_2d, "ggml_new_tensor_2d");
  library.load(mul_mat, "ggml_mul_mat");
  library.load(new_graph, "ggml_new_graph");
  library.load(build_forward_expand, "ggml_build_forward_expand");
  library.load(backend_alloc_ctx_tensors, "ggml_backend_alloc_ctx_tensors");
  library.load(backend_buffer_free, "ggml_backend_buffer_free");
  library.load(backend_tensor_set, "ggml_backend_tensor_set");
  library.load(backend_tensor_get, "ggml_backend_tensor_get");
  library.load(backend_graph_compute, "ggml_backend_graph_compute");
  library.load(backend_free, "ggml_backend_free");
  library.load(backend_vk_init, "ggml_backend_vk_init");
  library.load(backend_vk_get_device_count, "ggml_backend_vk_get_device_count");
  library.load(backend_vk_get_device_description, "ggml_backend_vk_get_device_description");
}

Device::Device(const std::string& library) : api_(library), backend_(nullptr, api_.backend_free) {
  if (api_.backend_vk_get_device_count() < 1)
    fail(ErrorCode::kDevice,
         "ggml finds no Vulkan device; it takes a software device only if the "
         "environment names it: GGML_VK_VISIBLE_DEVICES=0");
  backend_.reset(api_.backend_vk_init(0));
  if (backend_ == nullptr) fail(ErrorCode::kDevice, "ggml cannot open its first Vulkan device");
}

std::string Device::name() const {
  std::array<char, 256> text = {};
  api_.backend_vk_get_device_description(0, text.data(), text.size());
  return text.data();
}

std::string Device::version() const {
  return fmt::format("ggml {}, commit {} ({})", api_.version(), api_.commit(), api_.library.file());
}

Owned<Context> Device::context(std::size_t tensors, std::size_t graphs) const {
  return {api_.init({.mem_size = tensors * api_.tensor_overhead() + graphs * api_.graph_overhead(),
                     .mem_buffer = nullptr,
                     .no_alloc = true}),
          api_.free};
}

Owned<BackendBuffer> Device::allocate(Context* context) const {
  Owned<BackendBuffer> buffer(api_.backend_alloc_ctx_tensors(context, backend_.get()),
                              api_.backend_buffer_free);
  if (buffer == nullptr) fail(ErrorCode::kOutOfMemory, "ggml has no memory for its tensors");
  return buffer;
}

double Device::compute(Graph* graph) const {
  const double start = now_ns();
  const int status = api_.backend_graph_compute(backend_.get(), graph);
  if (status != kSuccess) fail(ErrorCode::kDevice, "ggml's graph failed with status {}", status);
  return now_ns() - start;
}

}  // namespace rooftile::ggml
