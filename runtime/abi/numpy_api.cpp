// C ABI of numpy.h.
#include <rooftile/numpy.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "runtime/abi/c_api_arguments.h"
#include "runtime/abi/c_api_guard.h"

namespace rooftile {

template <>
inline constexpr std::size_t kLeastBytes<rooftile_numpy_args> = sizeof(rooftile_numpy_args);

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

/// A matrix of rows x columns as the C ABI takes it; no value where no leading dimension says its
/// strides (in bytes).
struct Stored {
  std::int64_t ld;
  bool by_columns;
};
std::optional<Stored> stored(std::int64_t rows, std::int64_t columns, std::int64_t row_step,
                             std::int64_t column_step) {
  constexpr std::int64_t kSize = sizeof(float);
  if (column_step == kSize && row_step % kSize == 0 && row_step >= columns * kSize)
    return Stored{row_step / kSize, false};
  if (row_step == kSize && column_step % kSize == 0 && column_step >= rows * kSize)
    return Stored{column_step / kSize, true};
  return std::nullopt;
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
  rooftile_sgemm_args args = {};
  args.struct_size = sizeof args;
  args.trans_a = a->by_columns ? ROOFTILE_TRANSPOSE : ROOFTILE_NO_TRANSPOSE;
  args.trans_b = b->by_columns ? ROOFTILE_TRANSPOSE : ROOFTILE_NO_TRANSPOSE;
  args.m = m;
  args.n = n;
  args.k = k;
  args.alpha = 1;
  args.lda = a->ld;
  args.ldb = b->ld;
  args.ldc = c->ld;
  return args;
}

/// Whether the context has computed this product.
bool computed(const Route& route, rooftile_sgemm_args args, const std::array<char*, 3>& at) {
  args.a = reinterpret_cast<const float*>(at[0]);
  args.b = reinterpret_cast<const float*>(at[1]);
  args.c = reinterpret_cast<float*>(at[2]);
  return rooftile_sgemm(route.context, &args) == ROOFTILE_OK;
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

}  // namespace
}  // namespace rooftile

extern "C" {

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
      if (product && !symmetric && computed(route, *product, at))
        ++g_products;
      else
        original(route, at, sizes, strides, data);
    }
  }
  --route.running;
}

}  // extern "C"
