// Structures of older headers than the library's, and GEMMs on device buffers in programs with
// newer ones.
#include <cstring>

#include "runtime/abi/c_api_arguments.h"
#include "tests/support/resident_fixture.h"
#include "tests/support/resized.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

/// A structure that has gained `later` since the release whose size kLeastBytes gives.
struct Grown {
  std::size_t struct_size;
  std::int64_t first, later;
};

}  // namespace

template <>
inline constexpr std::size_t kLeastBytes<Grown> = 16;

namespace {

TEST(StructSizes, OlderHeadersLackFieldsThatCountAsZero) {
  const Resized older(Grown{.first = 3, .later = 5}, 16);
  const Given given("args", older.get());
  EXPECT_EQ(given->struct_size, sizeof(Grown));
  EXPECT_EQ(given->first, 3);
  EXPECT_EQ(given->later, 0);
  const Grown grown = {.struct_size = 16, .first = 3, .later = 5};
  EXPECT_EQ(Given("args", &grown)->later, 0);
  give_struct("result", older.get(), {.first = 4, .later = 6});
  EXPECT_EQ(older.get()->struct_size, 16u);
  EXPECT_EQ(older.get()->first, 4);
  const Resized oldest(Grown{}, 8);
  EXPECT_THROW(Given("args", oldest.get()), Error);
  EXPECT_THROW(give_struct("result", oldest.get(), {}), Error);
}

TEST_F(ResidentTest, StructuresOfNewerHeaders) {
  open({fallback_variant()});
  Problem p = padded_problem(9, 17, 33, Transpose::kNo, Transpose::kYes);
  p.epilogue = parse_epilogue("bias_column");
  Product product(p);
  const ProblemArgs problem(product);
  const rooftile_resident_operands operands = operands_of(product);
  const auto computed = [&](const rooftile_gemm_args* args,
                            const rooftile_resident_operands* where) {
    rooftile_run* run = nullptr;
    ok(rooftile_resident_gemm(context_, args, where, &run));
    finish(run);
    download_c(product, operands.c);
    product.expect_right();
    ok(rooftile_buffer_upload(operands.c.buffer, 0, product.c_before.data(), c_bytes(product)));
  };
  for (const std::size_t size : sizes_of_headers<rooftile_epilogue>()) {
    SCOPED_TRACE(size);
    const Resized epilogue(problem.epilogue, size);
    rooftile_gemm_args args = problem.args;
    args.epilogue = epilogue.get();
    const Resized newer(args, sizeof args + 16);
    const Resized where(operands, sizeof operands + 8);
    computed(newer.get(), where.get());
  }
}

TEST_F(ResidentTest, PreparedIsAsLongAsTheCallersStructure) {
  open({fallback_variant()});
  Product product(packed_problem(3, 4, 5));
  const ProblemArgs problem(product);
  const rooftile_resident_operands operands = operands_of(product);
  const rooftile_prepared known = prepared(product, operands);
  EXPECT_EQ(known.kernel, short_name(fallback_variant()));
  for (const std::size_t size : sizes_of_headers<rooftile_prepared>()) {
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
  for (const std::size_t size : sizes_of_no_header<rooftile_resident_operands>()) {
    rooftile_resident_operands operands = known;
    operands.struct_size = size;
    expect_refused(rooftile_resident_gemm(context_, &problem.args, &operands, nullptr), "operands",
                   size);
  }
  for (const std::size_t size : sizes_of_no_header<rooftile_prepared>()) {
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
