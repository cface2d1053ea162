// Calls on device buffers through the C ABI, on a synthetic tuning database.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rooftile/rooftile.h>

#include <map>
#include <string>

#include "generator/space.h"
#include "runtime/device/device.h"
#include "tests/support/first_device.h"
#include "tests/support/host_call.h"
#include "tests/support/opened.h"
#include "tests/support/product.h"
#include "tests/support/scratch.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {

/// Fails the test with the library's message when the status is an error.
inline void ok(rooftile_status status) { ASSERT_EQ(status, ROOFTILE_OK) << rooftile_last_error(); }

class ResidentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = first_device();
    cache_ = std::make_unique<ScopedEnvironment>("ROOFTILE_CACHE", (folder_ / "cache").string());
  }
  void TearDown() override {
    for (rooftile_buffer* buffer : buffers_) rooftile_buffer_release(buffer);
    rooftile_close(context_);
  }

  /// Opens a context on a database with these kernels; without kernels there is no database.
  void open(const std::vector<Variant>& ranked, const Epilogue& epilogue = {},
            const Types& types = {}, double kernel_ns = 1e5,
            const Calibration& calibration = fast_host()) {
    rooftile_close(context_);
    const std::filesystem::path database = folder_ / fmt::format("{}.db", ++databases_);
    if (!ranked.empty())
      write_test_database(database, device_, ranked, epilogue, types, calibration, kernel_ns);
    context_ = opened(database);
  }

  rooftile_buffer* create(std::size_t bytes) {
    rooftile_buffer* buffer = nullptr;
    EXPECT_EQ(rooftile_buffer_create(context_, bytes, &buffer), ROOFTILE_OK)
        << rooftile_last_error();
    buffers_.push_back(buffer);
    return buffer;
  }

  /// Copies the operand into a new buffer, at an offset in elements.
  rooftile_place put(const void* from, std::size_t bytes, std::int64_t offset,
                     std::int64_t element_bytes) {
    const auto begin = static_cast<std::size_t>(offset * element_bytes);
    rooftile_buffer* buffer = create(begin + bytes);
    ok(rooftile_buffer_upload(buffer, begin, from, bytes));
    return {buffer, offset};
  }
  template <typename T>
  rooftile_place put(const std::vector<T>& from, std::int64_t offset, std::int64_t element_bytes) {
    return put(from.data(), from.size() * sizeof(T), offset, element_bytes);
  }

  /// Copies each operand that the Product uses into a buffer of its own.
  rooftile_resident_operands operands_of(Product& product, std::int64_t offset = 0) {
    const Problem& p = product.problem;
    const Epilogue& e = p.epilogue;
    rooftile_resident_operands x = {.struct_size = sizeof x};
    x.a = put(product.stored_a_elements, offset, bytes_of(p.types.a));
    if (quantized(p.types)) {
      x.b = put(product.stored_b_elements, 0, 1);
      if (has_separate_scales(p.types)) x.scales = put(product.quantization.scales, 0, 1);
      if (!product.quantization.zero_points.empty())
        x.zero_points = put(product.quantization.zero_points, 0, 1);
    } else {
      x.b = put(product.stored_b_elements, offset, bytes_of(p.types.a));
    }
    x.c = put(product.c_data(), c_bytes(product), offset, bytes_of(p.types.c));
    const std::int64_t bytes = bytes_of(epilogue_type(p.types));
    if (e.row_scale) x.row_scale = put(product.row_scale, offset, bytes);
    if (e.column_scale) x.column_scale = put(product.column_scale, offset, bytes);
    if (e.bias != Bias::kNone) x.bias = put(product.bias, offset, bytes);
    if (e.residual) x.residual = put(product.residual, offset, bytes);
    return x;
  }
  static std::size_t c_bytes(const Product& product) {
    return product.c.size() * static_cast<std::size_t>(bytes_of(product.problem.types.c));
  }

  void download_c(Product& product, const rooftile_place& c) {
    const auto begin = static_cast<std::size_t>(c.offset * bytes_of(product.problem.types.c));
    ok(rooftile_buffer_download(c.buffer, begin, product.c_data(), c_bytes(product)));
  }

  static void finish(rooftile_run* run) {
    ok(rooftile_run_wait(run, ROOFTILE_FOREVER));
    ok(rooftile_run_release(run));
  }
  /// Runs a list to its end.
  static void run(rooftile_list* list) {
    rooftile_run* run = nullptr;
    ok(rooftile_list_run(list, &run));
    finish(run);
  }

  rooftile_prepared prepared(const Product& product, const rooftile_resident_operands& operands) {
    const ProblemArgs problem(product);
    rooftile_prepared result = {.struct_size = sizeof result};
    ok(rooftile_resident_prepare(context_, &problem.args, &operands, &result));
    return result;
  }

  /// Computes the Product on device buffers and checks the result.
  void expect_right(Product& product, std::int64_t offset = 0) {
    const rooftile_resident_operands operands = operands_of(product, offset);
    expect_right(product, operands);
    release_buffers();
  }
  void expect_right(Product& product, const rooftile_resident_operands& operands) {
    expect_right(product, operands, ProblemArgs(product).args);
  }
  void expect_right(Product& product, const rooftile_resident_operands& operands,
                    const rooftile_gemm_args& args) {
    rooftile_run* run = nullptr;
    ok(rooftile_resident_gemm(context_, &args, &operands, &run));
    if (::testing::Test::HasFatalFailure()) return;
    finish(run);
    download_c(product, operands.c);
    product.expect_right();
  }
  /// Closes the context while it computes the Product, and checks the result afterwards.
  void expect_right_after_the_context(Product& product) {
    const rooftile_resident_operands operands = operands_of(product);
    const ProblemArgs problem(product);
    rooftile_run* run = nullptr;
    ok(rooftile_resident_gemm(context_, &problem.args, &operands, &run));
    rooftile_close(context_);
    context_ = nullptr;
    finish(run);
    download_c(product, operands.c);
    product.expect_right();
  }
  void release_buffers() {
    for (rooftile_buffer* buffer : buffers_) ok(rooftile_buffer_release(buffer));
    buffers_.clear();
  }

  ScratchFolder folder_;
  std::unique_ptr<ScopedEnvironment> cache_;
  DeviceProfile device_;
  rooftile_context* context_ = nullptr;
  std::vector<rooftile_buffer*> buffers_;
  int databases_ = 0;
};

}  // namespace rooftile
