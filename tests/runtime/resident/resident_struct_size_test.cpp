// GEMMs on device buffers in programs with older and newer headers than the library's.
#include <cstring>

#include "tests/support/resident_fixture.h"
#include "tests/support/resized.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

TEST_F(ResidentTest, StructuresOfOlderAndNewerHeaders) {
  open({fallback_variant()});
  Problem p = padded_problem(9, 17, 33, Transpose::kNo, Transpose::kYes);
  p.epilogue = parse_epilogue("bias_column");
  Product product(p);
  const ProblemArgs problem(product);
  const rooftile_resident_operands operands = operands_of(product);
  rooftile_resident_operands older = operands;
  older.bias = {};
  const auto computed = [&](const rooftile_gemm_args* args,
                            const rooftile_resident_operands* where) {
    rooftile_run* run = nullptr;
    ok(rooftile_resident_gemm(context_, args, where, &run));
    finish(run);
    download_c(product, operands.c);
    product.expect_right();
    ok(rooftile_buffer_upload(operands.c.buffer, 0, product.c_before.data(), c_bytes(product)));
  };
  // This call uses no fields that args and its epilogue have gained since the first header.
  for (const std::size_t size :
       sizes_from<rooftile_epilogue>(offsetof(rooftile_epilogue, activation))) {
    SCOPED_TRACE(size);
    const Resized epilogue(problem.epilogue, size);
    rooftile_gemm_args args = problem.args;
    args.epilogue = epilogue.get();
    const Resized newer(args, sizeof args + 16);
    const Resized where(operands, sizeof operands + 8);
    computed(newer.get(), where.get());
  }
  // The call has no epilogue, since args or operands of these sizes lack its fields.
  product.problem.epilogue = {};
  const ProblemArgs plain(product);
  computed(Resized(plain.args, offsetof(rooftile_gemm_args, a_array)).get(),
           Resized(older, offsetof(rooftile_resident_operands, row_scale)).get());
}

TEST_F(ResidentTest, QuantizationsOfOlderAndNewerHeaders) {
  open({fallback_variant()});
  Product product(padded_problem(5, 6, 37, Transpose::kNo, Transpose::kYes, 1.0f, 0.0f,
                                 parse_types("f32xq4b16")));
  ProblemArgs problem(product);
  const rooftile_resident_operands operands = operands_of(product);
  for (const std::size_t size :
       sizes_from<rooftile_quantization>(offsetof(rooftile_quantization, zero_points))) {
    SCOPED_TRACE(size);
    const Resized quantization(problem.quantization, size);
    problem.args.quantization = quantization.get();
    expect_right(product, operands, problem.args);
    ok(rooftile_buffer_upload(operands.c.buffer, 0, product.c_before.data(), c_bytes(product)));
  }
}

TEST_F(ResidentTest, PreparedIsAsLongAsTheCallersStructure) {
  open({fallback_variant()});
  Product product(packed_problem(3, 4, 5));
  const ProblemArgs problem(product);
  const rooftile_resident_operands operands = operands_of(product);
  const rooftile_prepared known = prepared(product, operands);
  EXPECT_EQ(known.kernel, short_name(fallback_variant()));
  for (const std::size_t size :
       sizes_from<rooftile_prepared>(offsetof(rooftile_prepared, kernel))) {
    SCOPED_TRACE(size);
    const Resized result(rooftile_prepared{}, size);
    std::memset(result.bytes() + sizeof size, 0xa5, size - sizeof size);
    ok(rooftile_resident_prepare(context_, &problem.args, &operands, result.get()));
    EXPECT_EQ(std::memcmp(result.bytes(), Resized(known, size).bytes(), size), 0);
  }
}

TEST_F(ResidentTest, StructSizesOfNoHeaderAreRefused) {
  open({fallback_variant()});
  Product product(packed_problem(3, 4, 5));
  const ProblemArgs problem(product);
  const rooftile_resident_operands known = operands_of(product);
  const auto expect_refused = [](rooftile_status status, const char* argument, std::size_t size) {
    EXPECT_EQ(status, ROOFTILE_INVALID_ARGUMENT) << size;
    EXPECT_THAT(rooftile_last_error(),
                HasSubstr(fmt::format("{}->struct_size is {}", argument, size)));
  };
  for (const std::size_t size : sizes_of_no_header<rooftile_resident_operands>(
           offsetof(rooftile_resident_operands, row_scale))) {
    rooftile_resident_operands operands = known;
    operands.struct_size = size;
    expect_refused(rooftile_resident_gemm(context_, &problem.args, &operands, nullptr), "operands",
                   size);
  }
  for (const std::size_t size :
       sizes_of_no_header<rooftile_prepared>(offsetof(rooftile_prepared, kernel))) {
    rooftile_prepared result = {.struct_size = size};
    expect_refused(rooftile_resident_prepare(context_, &problem.args, &known, &result), "prepared",
                   size);
  }
}

TEST_F(ResidentTest, OperandsOfUnknownSizeAreRefused) {
  open({fallback_variant()});
  Product product(packed_problem(3, 4, 5));
  const ProblemArgs problem(product);
  const Resized operands(operands_of(product), sizeof(rooftile_resident_operands) + 16);
  operands.bytes()[sizeof(rooftile_resident_operands)] = std::byte{1};
  EXPECT_EQ(rooftile_resident_gemm(context_, &problem.args, operands.get(), nullptr),
            ROOFTILE_UNSUPPORTED);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("operands has a field, at byte"));
}

}  // namespace
}  // namespace rooftile
