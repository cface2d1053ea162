// What ggml's baseline calls of ggml's C interface (ggml.h,
// ggml-alloc.h, ggml-backend.h and ggml-vulkan.h of ggml-org/ggml). Its libraries are opened at run
// time, and no header of it is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/baselines/shared_library.h"
#include "core/types.h"

namespace rooftile::ggml {

struct Context;
struct Tensor;
struct Graph;
struct Backend;
struct BackendBuffer;

struct InitParams {  // ggml_init_params
  std::size_t mem_size;
  void* mem_buffer;
  bool no_alloc;
};

constexpr int kF32 = 0, kSuccess = 0;
/// Number of the type of B in ggml. Throws kUnsupported for types that ggml lacks.
int type_of_b(const Types& types);

/// ggml_NAME is called NAME here.
struct Api {
  /// Opens ggml's library of its Vulkan back end: the path, or the usual name for "". Throws
  /// kUnsupported.
  explicit Api(const std::string& path);

  SharedLibrary library;
  const char* (*version)();
  const char* (*commit)();
  Context* (*init)(InitParams);
  void (*free)(Context*);
  std::size_t (*tensor_overhead)();
  std::size_t (*graph_overhead)();
  std::size_t (*nbytes)(const Tensor*);
  Tensor* (*new_tensor_2d)(Context*, int type, std::int64_t ne0, std::int64_t ne1);
  Tensor* (*mul_mat)(Context*, Tensor* a, Tensor* b);
  Graph* (*new_graph)(Context*);
  void (*build_forward_expand)(Graph*, Tensor*);
  BackendBuffer* (*backend_alloc_ctx_tensors)(Context*, Backend*);
  void (*backend_buffer_free)(BackendBuffer*);
  void (*backend_tensor_set)(Tensor*, const void*, std::size_t offset, std::size_t bytes);
  void (*backend_tensor_get)(const Tensor*, void*, std::size_t offset, std::size_t bytes);
  int (*backend_graph_compute)(Backend*, Graph*);
  void (*backend_free)(Backend*);
  Backend* (*backend_vk_init)(std::size_t device);
  int (*backend_vk_get_device_count)();
  void (*backend_vk_get_device_description)(int device, char* text, std::size_t size);
};

/// Owns what ggml makes.
template <typename T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

/// ggml's first Vulkan device (GGML_VK_VISIBLE_DEVICES=0 allows a software device). Throws kDevice.
class Device {
 public:
  explicit Device(const std::string& library);
  const Api& api() const { return api_; }
  Backend* backend() const { return backend_.get(); }
  std::string name() const;     ///< Of the device.
  std::string version() const;  ///< Of ggml, with its commit and file.
  /// A context for this many tensors and graphs, which holds none of their elements.
  Owned<Context> context(std::size_t tensors, std::size_t graphs) const;
  /// Memory on the device for all tensors of a context. Throws kOutOfMemory.
  Owned<BackendBuffer> allocate(Context* context) const;
  /// Computes a graph and waits; returns the wall time in ns. Throws kDevice.
  double compute(Graph* graph) const;

 private:
  Api api_;
  Owned<Backend> backend_;
};

}  // namespace rooftile::ggml
