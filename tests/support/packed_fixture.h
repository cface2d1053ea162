// Calls with packed operands through the C ABI, on a synthetic tuning database and a driver that
// counts memory and fails on command.
#pragma once

#include <string>
#include <vector>

#include "tests/support/faulty_driver.h"
#include "tests/support/resident_fixture.h"

namespace rooftile {

// Kernels that read packed operands: both, B alone, B alone in the same layout but with other tiles
// of rows, and B in another layout.
inline const std::string kPacksBoth =
    "family=register tile_m=16 tile_n=32 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
    "vector_width_b=4 packed_a=yes packed_b=yes";
inline const std::string kPacksB =
    "family=register tile_m=16 tile_n=32 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=1 "
    "vector_width_b=4 packed_b=yes";
inline const std::string kPacksBOfFewRows =
    "family=register tile_m=8 tile_n=32 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=1 "
    "vector_width_b=4 packed_b=yes";
inline const std::string kPacksBWide =
    "family=register tile_m=16 tile_n=64 reg_m=4 reg_n=8 unroll_k=8 vector_width_a=1 "
    "vector_width_b=4 packed_b=yes";
inline const std::string kReadsStored =
    "family=register tile_m=8 tile_n=32 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=1 "
    "vector_width_b=1";

class PackedTest : public ResidentTest {
 protected:
  void TearDown() override {
    FaultyDriver::heal();
    for (rooftile_packed* packed : packed_) rooftile_packed_release(packed);
    ResidentTest::TearDown();
  }

  /// A kernel with its times on one problem, for the synthetic database.
  struct InjectedKernel {
    Problem problem;
    std::string variant;
    double kernel_ns = 1e5, pack_ns = 0;
  };
  void open_with(const std::vector<InjectedKernel>& kernels,
                 const Calibration& calibration = slow_host()) {
    rooftile_close(context_);
    database_ = (folder_ / fmt::format("{}.db", ++databases_)).string();
    {
      Store store(database_);
      const RowId row = store.device_id(device_);
      store.add_calibration(row, to_figures(calibration));
      std::map<std::string, std::vector<WinnerRecord>> lists;
      for (const InjectedKernel& kernel : kernels) {
        const RowId candidate =
            candidate_row(store, parse_variant(kernel.variant), signature_of(kernel.problem));
        store.put_certificate(row, candidate, kGeneratorVersion, true, "planted");
        auto& list = lists[to_string(bucket_of(kernel.problem))];
        list.push_back({.candidate = candidate,
                        .problem = store.problem_id(kernel.problem),
                        .rank = static_cast<int>(list.size()),
                        .kernel_ns = kernel.kernel_ns,
                        .pack_ns = kernel.pack_ns});
      }
      for (const auto& [bucket, list] : lists) store.put_winners(row, bucket, list);
    }
    open_database();
  }
  void open_database() { context_ = opened(database_, {.no_measured_calls = 1}); }

  rooftile_packed* keep(rooftile_packed* packed) {
    packed_.push_back(packed);
    return packed;
  }
  static rooftile_pack_args pack_args(const rooftile_gemm_args& call, rooftile_operand operand,
                                      const std::vector<std::int64_t>& sizes) {
    return {.struct_size = sizeof(rooftile_pack_args),
            .operand = operand,
            .call = &call,
            .sizes = sizes.data(),
            .size_count = sizes.size()};
  }
  rooftile_status try_pack(const rooftile_gemm_args& call, rooftile_operand operand,
                           const std::vector<std::int64_t>& sizes, rooftile_packed** packed) {
    const rooftile_pack_args args = pack_args(call, operand, sizes);
    return rooftile_pack(context_, &args, packed);
  }
  rooftile_packed* pack(const rooftile_gemm_args& call,
                        rooftile_operand operand = ROOFTILE_OPERAND_B,
                        const std::vector<std::int64_t>& sizes = {}) {
    rooftile_packed* packed = nullptr;
    ok(try_pack(call, operand, sizes, &packed));
    return keep(packed);
  }
  rooftile_packed* pack_resident(const rooftile_gemm_args& call,
                                 const rooftile_resident_operands& operands,
                                 rooftile_operand operand = ROOFTILE_OPERAND_B,
                                 const std::vector<std::int64_t>& sizes = {}) {
    const rooftile_pack_args args = pack_args(call, operand, sizes);
    rooftile_packed* packed = nullptr;
    ok(rooftile_resident_pack(context_, &args, &operands, &packed));
    return keep(packed);
  }
  static rooftile_packed_info info(rooftile_packed* packed) {
    rooftile_packed_info result = {.struct_size = sizeof result};
    ok(rooftile_packed_query(packed, &result));
    return result;
  }
  rooftile_decision last() {
    rooftile_decision decision = {.struct_size = sizeof decision};
    ok(rooftile_last_decision(context_, &decision));
    return decision;
  }
  std::string name_of(const std::string& variant) { return short_name(parse_variant(variant)); }

  std::string database_;
  std::vector<rooftile_packed*> packed_;
};

}  // namespace rooftile
