// Buffers, a list and its runs that many threads use at once, through the C ABI.
#pragma once

#include <rooftile/rooftile.h>

#include <cstring>
#include <vector>

#include "tests/support/product.h"
#include "tests/support/resident_fixture.h"

namespace rooftile {

/// A and B, which every thread reads, and a list that every thread runs. C has the same values for
/// every order of the runs.
class SharedWork {
 public:
  explicit SharedWork(rooftile_context* context) : context_(context) {
    places_.a = put(product_.a);
    places_.b = put(product_.b);
    places_.c = put(product_.c);
    ok(rooftile_list_create(context_, &list_));
    ok(rooftile_list_upload(list_, places_.a.buffer, 0, product_.a.data(), bytes(product_.a)));
    ok(rooftile_list_gemm(list_, &problem_.args, &places_));
    ok(rooftile_list_download(list_, places_.c.buffer, 0, product_.c.data(), bytes(product_.c)));
  }
  ~SharedWork() {
    ok(rooftile_list_release(list_));
    for (const rooftile_place& place : {places_.a, places_.b, places_.c})
      ok(rooftile_buffer_release(place.buffer));
  }
  SharedWork(const SharedWork&) = delete;
  SharedWork& operator=(const SharedWork&) = delete;

  /// Runs the list, and a call with the same A and B and a separate C. Thread-safe.
  void use() const {
    rooftile_run* run = nullptr;
    ok(rooftile_list_run(list_, &run));
    Product product(product_.problem);
    rooftile_resident_operands own = places_;
    own.c = put(product.c);
    ok(rooftile_resident_gemm(context_, &problem_.args, &own, nullptr));
    ok(rooftile_buffer_download(own.c.buffer, 0, product.c.data(), bytes(product.c)));
    product.expect_right();
    ok(rooftile_buffer_release(own.c.buffer));
    std::vector<float> b(product_.b.size());
    ok(rooftile_buffer_download(places_.b.buffer, 0, b.data(), bytes(b)));
    EXPECT_EQ(std::memcmp(b.data(), product_.b.data(), bytes(b)), 0);
    ok(rooftile_run_wait(run, ROOFTILE_FOREVER));
    ok(rooftile_run_release(run));
  }
  /// Releases everything. No thread may use the object any more.
  void expect_right() const { product_.expect_right(); }

 private:
  static std::size_t bytes(const std::vector<float>& x) { return x.size() * sizeof(float); }
  rooftile_place put(const std::vector<float>& x) const {
    rooftile_buffer* buffer = nullptr;
    ok(rooftile_buffer_create(context_, bytes(x), &buffer));
    ok(rooftile_buffer_upload(buffer, 0, x.data(), bytes(x)));
    return {buffer, 0};
  }

  rooftile_context* context_;
  Product product_{padded_problem(33, 65, 70, Transpose::kNo, Transpose::kYes, 1.5f, 0)};
  ProblemArgs problem_{product_};
  rooftile_resident_operands places_ = {.struct_size = sizeof places_};
  rooftile_list* list_ = nullptr;
};

}  // namespace rooftile
