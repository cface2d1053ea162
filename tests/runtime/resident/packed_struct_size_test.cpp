// Packed operands in programs that were compiled with a newer header than the library's.
#include <cstring>

#include "tests/support/packed_fixture.h"
#include "tests/support/resized.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

class PackedStructSize : public PackedTest {
 protected:
  void SetUp() override {
    PackedTest::SetUp();
    open({parse_variant(kPacksB)});
  }
  /// Multiplies on the device with the packed operand alone, and releases it.
  void expect_usable(rooftile_packed* packed) {
    rooftile_gemm_args args = call_.args;
    args.b = nullptr;
    args.packed = packed;
    product_.c = product_.c_before;
    EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
    product_.expect_right();
    EXPECT_EQ(rooftile_packed_release(packed), ROOFTILE_OK);
  }

  Product product_{padded_problem(9, 17, 33, Transpose::kNo, Transpose::kYes)};
  HostCall call_{product_};
};

TEST_F(PackedStructSize, PackingTakesArgumentsOfEveryHeader) {
  const rooftile_pack_args args = {.operand = ROOFTILE_OPERAND_B, .call = &call_.args};
  expect_sizes(args, [&](const rooftile_pack_args* given) {
    rooftile_packed* packed = nullptr;
    const rooftile_status status = rooftile_pack(context_, given, &packed);
    EXPECT_EQ(packed != nullptr, status == ROOFTILE_OK);
    if (packed != nullptr) expect_usable(packed);
    return status;
  });
}

TEST_F(PackedStructSize, PackingOfABufferTakesArgumentsOfEveryHeader) {
  const ProblemArgs problem(product_);
  const rooftile_resident_operands operands = operands_of(product_);
  const rooftile_pack_args args = {.operand = ROOFTILE_OPERAND_B, .call = &problem.args};
  expect_sizes(args, [&](const rooftile_pack_args* given) {
    rooftile_packed* packed = nullptr;
    const rooftile_status status = rooftile_resident_pack(context_, given, &operands, &packed);
    EXPECT_EQ(packed != nullptr, status == ROOFTILE_OK);
    if (packed != nullptr) expect_usable(packed);
    return status;
  });
  const rooftile_pack_args known = {
      .struct_size = sizeof known, .operand = ROOFTILE_OPERAND_B, .call = &problem.args};
  expect_sizes(operands, [&](const rooftile_resident_operands* given) {
    rooftile_packed* packed = nullptr;
    const rooftile_status status = rooftile_resident_pack(context_, &known, given, &packed);
    if (packed != nullptr) expect_usable(packed);
    return status;
  });
}

TEST_F(PackedStructSize, TheCallThatIsPackedForMayBeOfAnyHeader) {
  const auto pack = [&](const rooftile_gemm_args* call) {
    rooftile_packed* packed = nullptr;
    const rooftile_pack_args args = {
        .struct_size = sizeof args, .operand = ROOFTILE_OPERAND_B, .call = call};
    const rooftile_status status = rooftile_pack(context_, &args, &packed);
    if (packed != nullptr) expect_usable(packed);
    return status;
  };
  expect_sizes(call_.args, pack, kGemmArgsOfFirstRelease);
}

TEST_F(PackedStructSize, InfoIsAsLongAsTheCallersStructure) {
  rooftile_packed* const packed = pack(call_.args);
  const rooftile_packed_info known = info(packed);
  EXPECT_EQ(known.kernel, name_of(kPacksB));
  for (const std::size_t size : sizes_of_headers<rooftile_packed_info>()) {
    SCOPED_TRACE(size);
    const Resized result(rooftile_packed_info{}, size);
    std::memset(result.bytes() + sizeof size, 0xa5, size - sizeof size);
    ok(rooftile_packed_query(packed, result.get()));
    EXPECT_EQ(std::memcmp(result.bytes(), Resized(known, size).bytes(), size), 0);
  }
  for (const std::size_t size : sizes_of_no_header<rooftile_packed_info>()) {
    SCOPED_TRACE(size);
    rooftile_packed_info wrong = {.struct_size = size};
    EXPECT_EQ(rooftile_packed_query(packed, &wrong), ROOFTILE_INVALID_ARGUMENT);
    EXPECT_THAT(rooftile_last_error(), HasSubstr(fmt::format("info->struct_size is {}", size)));
  }
}

}  // namespace
}  // namespace rooftile
