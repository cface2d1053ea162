// GEMMs on device buffers through the C ABI: single calls, lists, and runs that are not waited
// for.
#pragma once

#include <rooftile/rooftile.h>

#include <algorithm>
#include <vector>

#include "tests/support/product.h"
#include "tests/support/resident_fixture.h"

namespace rooftile {

/// Operands of a Product in buffers of a context's device. Not thread-safe.
class OnDevice {
 public:
  OnDevice(rooftile_context* context, Product& product) : context_(context) {
    const auto bytes_c =
        product.c.size() * static_cast<std::size_t>(bytes_of(product.problem.types.c));
    put(places_.a, product.stored_a_elements.data(), product.stored_a_elements.size());
    put(places_.b, product.stored_b_elements.data(), product.stored_b_elements.size());
    put(places_.c, product.c_data(), bytes_c);
    put(places_.scales, product.quantization.scales.data(), product.quantization.scales.size());
    put(places_.zero_points, product.quantization.zero_points.data(),
        product.quantization.zero_points.size());
  }
  ~OnDevice() { release(); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  /// Uploads, multiplies and downloads in separate calls.
  void run_step_by_step(const ProblemArgs& problem, bool wait_for_all) {
    upload();
    rooftile_run* run = nullptr;
    ok(rooftile_resident_gemm(context_, &problem.args, &places_, &run));
    ok(wait_for_all ? rooftile_resident_finish(context_, ROOFTILE_FOREVER)
                    : rooftile_run_wait(run, ROOFTILE_FOREVER));
    ok(rooftile_run_release(run));
    ok(rooftile_buffer_download(places_.c.buffer, 0, c().host, c().bytes));
  }
  /// Runs everything as one list, twice; each run uploads C again.
  void run_as_list(const ProblemArgs& problem) {
    std::vector<char> c_before(c().bytes);
    std::copy_n(static_cast<const char*>(c().host), c().bytes, c_before.begin());
    rooftile_list* list = nullptr;
    ok(rooftile_list_create(context_, &list));
    for (const Operand& x : operands_)
      ok(rooftile_list_upload(list, x.buffer, 0,
                              x.buffer == places_.c.buffer ? c_before.data() : x.host, x.bytes));
    ok(rooftile_list_gemm(list, &problem.args, &places_));
    ok(rooftile_list_download(list, places_.c.buffer, 0, c().host, c().bytes));
    for (int i = 0; i < 2; ++i) {
      rooftile_run* run = nullptr;
      ok(rooftile_list_run(list, &run));
      ok(rooftile_run_wait(run, ROOFTILE_FOREVER));
      ok(rooftile_run_release(run));
    }
    ok(rooftile_list_release(list));
  }
  /// Releases the buffers without waiting for the call, which may still run.
  void run_and_forget(const ProblemArgs& problem) {
    upload();
    ok(rooftile_resident_gemm(context_, &problem.args, &places_, nullptr));
    release();
  }

 private:
  struct Operand {
    rooftile_buffer* buffer = nullptr;
    void* host = nullptr;
    std::size_t bytes = 0;
  };
  const Operand& c() const { return operands_[2]; }
  void put(rooftile_place& place, const void* host, std::size_t bytes) {
    if (bytes == 0) return;
    ok(rooftile_buffer_create(context_, bytes, &place.buffer));
    operands_.push_back({place.buffer, const_cast<void*>(host), bytes});
  }
  void upload() {
    for (const Operand& x : operands_) ok(rooftile_buffer_upload(x.buffer, 0, x.host, x.bytes));
  }
  void release() {
    for (const Operand& x : operands_) ok(rooftile_buffer_release(x.buffer));
    operands_.clear();
  }

  rooftile_context* context_;
  rooftile_resident_operands places_ = {.struct_size = sizeof places_};
  std::vector<Operand> operands_;
};

}  // namespace rooftile
