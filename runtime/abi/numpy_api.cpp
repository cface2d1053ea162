// C ABI of numpy.h.
#include <dlfcn.h>
#include <rooftile/numpy.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <climits>
#include <optional>
#include <span>
#include <thread>

#include "runtime/abi/c_api_arguments.h"
#include "runtime/abi/c_api_guard.h"

namespace rooftile {
namespace {

/// A setting, and how many loops are running with it. There are two: a new setting is written into
/// the one that no loop is reading.
struct Route {
  rooftile_numpy_loop original = nullptr;
  rooftile_context* context = nullptr;
  std::int64_t least = 0;
  std::atomic<std::int64_t> running = 0;
};

std::array<Route, 2> g_routes;
std::atomic<unsigned> g_current = 0;
std::atomic<std::int64_t> g_products = 0, g_calls = 0;
std::atomic<bool> g_setting = false;
std::atomic<pid_t> g_process = 0;

/// The current setting, which does not change before its `running` is taken down again.
Route& entered() {
  for (;;) {
    const unsigned at = g_current.load();
    Route& route = g_routes[at];
    ++route.running;
    if (g_current.load() == at) return route;
    --route.running;
  }
}

/// The leading dimension of `lines` rows or columns whose elements lie side by side; steps in
/// bytes. Where there is one line, or one element in each, its step may be any.
std::optional<std::int64_t> leading_dimension(std::int64_t lines, std::int64_t elements,
                                              std::int64_t line_step, std::int64_t element_step) {
  constexpr std::int64_t kSize = sizeof(float);
  if (elements > 1 && element_step != kSize) return std::nullopt;
  if (lines == 1) return elements;
  if (line_step % kSize != 0 || line_step < elements * kSize) return std::nullopt;
  return line_step / kSize;
}

/// A matrix of rows x columns as the C ABI takes it; no value where no leading dimension says its
/// strides (in bytes).
struct Stored {
  std::int64_t ld;
  bool by_columns;
};
std::optional<Stored> stored(std::int64_t rows, std::int64_t columns, std::int64_t row_step,
                             std::int64_t column_step) {
  if (const auto ld = leading_dimension(rows, columns, row_step, column_step))
    return Stored{*ld, false};
  if (const auto ld = leading_dimension(columns, rows, column_step, row_step))
    return Stored{*ld, true};
  return std::nullopt;
}

/// The arguments of A * B, without pointers.
rooftile_sgemm_args product_of(std::int64_t m, std::int64_t k, std::int64_t n, const Stored& a,
                               const Stored& b, std::int64_t ldc) {
  rooftile_sgemm_args args = {};
  args.struct_size = sizeof args;
  args.trans_a = a.by_columns ? ROOFTILE_TRANSPOSE : ROOFTILE_NO_TRANSPOSE;
  args.trans_b = b.by_columns ? ROOFTILE_TRANSPOSE : ROOFTILE_NO_TRANSPOSE;
  args.m = m;
  args.n = n;
  args.k = k;
  args.alpha = 1;
  args.lda = a.ld;
  args.ldb = b.ld;
  args.ldc = ldc;
  return args;
}

/// Whether the context has computed this product.
bool computed(rooftile_context* context, rooftile_sgemm_args args, const void* a, const void* b,
              void* c) {
  args.a = static_cast<const float*>(a);
  args.b = static_cast<const float*>(b);
  args.c = static_cast<float*>(c);
  return rooftile_sgemm(context, &args) == ROOFTILE_OK;
}

/// The arguments of the products of one call of the loop, without pointers; no value where NumPy's
/// loop is to compute them. sizes: m, k, n; steps: of a, b and c, rows before columns.
std::optional<rooftile_sgemm_args> routed(const Route& route, const std::intptr_t* sizes,
                                          const std::intptr_t* steps) {
  const std::int64_t m = sizes[0], k = sizes[1], n = sizes[2];
  constexpr std::int64_t kMost = std::int64_t{1} << 20;  // m * n * k of smaller sizes fits 64 bits
  if (route.context == nullptr || m < 2 || n < 2 || k < 1 || std::max({m, n, k}) >= kMost ||
      m * n * k < route.least)
    return std::nullopt;
  const auto a = stored(m, k, steps[0], steps[1]);
  const auto b = stored(k, n, steps[2], steps[3]);
  const auto c = stored(m, n, steps[4], steps[5]);
  if (!a || !b || !c || c->by_columns) return std::nullopt;
  return product_of(m, k, n, *a, *b, c->ld);
}

/// What NumPy's loop computes, in its place while it is not known yet: a thread may have got this
/// loop before the binding has called rooftile_numpy_route, and must not wait for it, because it
/// may hold the interpreter.
void plain_product(std::array<char*, 3> at, const std::intptr_t* sizes,
                   const std::intptr_t* steps) {
  for (std::intptr_t i = 0; i < sizes[0]; ++i)
    for (std::intptr_t j = 0; j < sizes[2]; ++j) {
      float sum = 0;
      for (std::intptr_t l = 0; l < sizes[1]; ++l)
        sum += *reinterpret_cast<const float*>(at[0] + i * steps[0] + l * steps[1]) *
               *reinterpret_cast<const float*>(at[1] + l * steps[2] + j * steps[3]);
      *reinterpret_cast<float*>(at[2] + i * steps[4] + j * steps[5]) = sum;
    }
}

/// One product by NumPy's loop.
void original(const Route& route, std::array<char*, 3> at, const std::intptr_t* sizes,
              const std::intptr_t* strides, void* data) {
  if (route.original == nullptr) return plain_product(at, sizes + 1, strides + 3);
  const std::array<std::intptr_t, 4> one = {1, sizes[1], sizes[2], sizes[3]};
  route.original(at.data(), one.data(), strides, data);
}

void set_route(const rooftile_numpy_args* args) {
  const Given given("args", args);
  if (given->original == nullptr) fail(ErrorCode::kInvalidArgument, "args->original is null");
  if (given->least < 0) fail(ErrorCode::kInvalidArgument, "args->least is {}", given->least);
  if (g_process.exchange(::getpid()) != ::getpid()) {
    // The first call, or a forked child without its parent's threads.
    for (Route& route : g_routes) route.running = 0;
    g_setting = false;
  }
  while (g_setting.exchange(true)) std::this_thread::yield();
  const unsigned before = g_current.load();
  Route& next = g_routes[1 - before];
  const auto idle = [](const Route& route) {
    while (route.running.load() > 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
  };
  idle(next);  // A loop that has looked at it too late leaves at once.
  next.original = given->original;
  next.context = given->context;
  next.least = given->least;
  g_current.store(1 - before);
  idle(g_routes[before]);
  g_setting = false;
}

/// The functions of the interpreter that calls; of Python's stable ABI.
struct Python {
  template <class Function>
  static Function* found(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
  }
  void* (*pointer)(void*, const char*) = found<void*(void*, const char*)>("PyCapsule_GetPointer");
  void (*take)(void*) = found<void(void*)>("Py_IncRef");
  void (*drop)(void*) = found<void(void*)>("Py_DecRef");
  void* (*release_lock)() = found<void*()>("PyEval_SaveThread");
  void (*get_lock)(void*) = found<void(void*)>("PyEval_RestoreThread");
};

/// What an ndarray has behind its object's head: PyArrayObject_fields of NumPy's C API.
struct Array {
  char* data;
  int dimensions;
  const std::intptr_t* shape;
  const std::intptr_t* strides;
  void* base;
  void* dtype;
  int flags;
};

const Array& fields_of(const rooftile_numpy_arrays& known, void* object) {
  return *reinterpret_cast<const Array*>(static_cast<char*>(object) + known.head);
}

/// The array of an object; null where it is no ndarray of float32 with one dimension or two, and
/// elements.
const Array* float32_array(const rooftile_numpy_arrays& known, void* object) {
  const Array* array = &fields_of(known, object);
  if (reinterpret_cast<void* const*>(array)[-1] != known.type || array->dtype != known.dtype)
    return nullptr;
  if (array->dimensions == 1) return array->shape[0] > 0 ? array : nullptr;
  return array->dimensions == 2 && array->shape[0] > 0 && array->shape[1] > 0 ? array : nullptr;
}

/// A product of two arrays: its arguments without pointers, and the shape of the result.
struct ArrayProduct {
  rooftile_sgemm_args args;
  int dimensions;
  std::array<std::intptr_t, 2> shape;
};

/// No value for two vectors, sizes that differ, and strides that no leading dimension says.
std::optional<ArrayProduct> product_of(const Array& a, const Array& b) {
  const bool row = a.dimensions == 1, column = b.dimensions == 1;
  const std::intptr_t m = row ? 1 : a.shape[0], k = a.shape[a.dimensions - 1];
  const std::intptr_t n = column ? 1 : b.shape[1];
  if ((row && column) || b.shape[0] != k) return std::nullopt;
  const auto stored_a = stored(m, k, row ? 0 : a.strides[0], a.strides[a.dimensions - 1]);
  const auto stored_b = stored(k, n, b.strides[0], column ? 0 : b.strides[1]);
  if (!stored_a || !stored_b) return std::nullopt;
  return ArrayProduct{
      product_of(m, k, n, *stored_a, *stored_b, n), row || column ? 1 : 2, {row ? n : m, n}};
}

/// Whether the object is an array of the result's shape, by rows without gaps, that may be written.
bool takes(const Array* out, const ArrayProduct& product) {
  constexpr int kByRows = 0x1, kWriteable = 0x400, kWarnsOfWrites = INT_MIN;
  return out != nullptr && out->dimensions == product.dimensions &&
         std::equal(out->shape, out->shape + out->dimensions, product.shape.begin()) &&
         (out->flags & (kByRows | kWriteable | kWarnsOfWrites)) == (kByRows | kWriteable);
}

/// Computes the product into an array, and returns whether it did.
bool computed(const Python& python, rooftile_numpy_arrays& known, const ArrayProduct& product,
              const Array& a, const Array& b, const Array& c) {
  rooftile_context* context = known.context;
  ++known.running;
  void* thread = python.release_lock();
  const bool done = computed(context, product.args, a.data, b.data, c.data);
  python.get_lock(thread);
  --known.running;
  return done;
}

/// A new reference to the result, or to None where the product is left; null with Python's error.
void* product_or_none(const Python& python, rooftile_numpy_arrays& known,
                      std::span<void* const> objects) {
  const auto none = [&] {
    python.take(known.none);
    return known.none;
  };
  if (known.context == nullptr || objects.size() != 3) return none();
  const Array* a = float32_array(known, objects[0]);
  const Array* b = float32_array(known, objects[1]);
  if (a == nullptr || b == nullptr) return none();
  const std::optional<ArrayProduct> product = product_of(*a, *b);
  if (!product) return none();
  void* out = objects[2];
  if (out == known.none) {
    python.take(known.dtype);  // The new array owns a reference.
    out = known.empty(product->dimensions, product->shape.data(), known.dtype, 0);
    if (out == nullptr) return nullptr;
  } else if (takes(float32_array(known, out), *product)) {
    python.take(out);
  } else {
    return none();
  }
  if (computed(python, known, *product, *a, *b, fields_of(known, out))) return out;
  python.drop(out);
  return none();
}

}  // namespace
}  // namespace rooftile

extern "C" {

void* rooftile_numpy_product(void* self, void* const* objects, intptr_t count) {
  using namespace rooftile;
  static const Python python;
  auto& known = *static_cast<rooftile_numpy_arrays*>(python.pointer(self, nullptr));
  return product_or_none(python, known, {objects, static_cast<std::size_t>(count)});
}

rooftile_status rooftile_numpy_route(const rooftile_numpy_args* args, int64_t* products,
                                     int64_t* calls) {
  using namespace rooftile;
  return guarded([&] {
    if (args != nullptr) set_route(args);
    if (products != nullptr) *products = g_products.load();
    if (calls != nullptr) *calls = g_calls.load();
  });
}

void rooftile_numpy_matmul(char** args, const intptr_t* sizes, const intptr_t* strides,
                           void* data) {
  using namespace rooftile;
  ++g_calls;
  Route& route = entered();
  const std::intptr_t count = sizes[0];
  const std::optional<rooftile_sgemm_args> product = routed(route, sizes + 1, strides + 3);
  if (!product && route.original != nullptr) {
    route.original(args, sizes, strides, data);
  } else {
    for (std::intptr_t i = 0; i < count; ++i) {
      const std::array<char*, 3> at = {args[0] + i * strides[0], args[1] + i * strides[1],
                                       args[2] + i * strides[2]};
      // NumPy computes half of a product with the own transpose.
      const bool symmetric = at[0] == at[1] && sizes[1] == sizes[3] && strides[3] == strides[6] &&
                             strides[4] == strides[5];
      if (product && !symmetric && computed(route.context, *product, at[0], at[1], at[2]))
        ++g_products;
      else
        original(route, at, sizes, strides, data);
    }
  }
  --route.running;
}

}  // extern "C"
