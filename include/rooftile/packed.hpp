// C++ over packed.h: ownership and exceptions, nothing else. Part of rooftile.hpp.
#pragma once

#include <rooftile/packed.h>

#include <cstdint>
#include <rooftile/resident.hpp>
#include <vector>

namespace rooftile {

/// An operand that is packed once and used by many calls: get() goes into args.packed. All members
/// throw StatusError as the C function of that name reports.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  /// rooftile_pack; struct_size is filled in, and batch 0 becomes 1, here and below. sizes: further
  /// values of m (of n, where A is packed) that calls will have.
  PackedMatrix(const Session& session, rooftile_operand operand, const rooftile_gemm_args& call,
               const std::vector<std::int64_t>& sizes = {}) {
    const rooftile_gemm_args completed = detail::completed(call);
    const rooftile_pack_args args = pack_args(operand, completed, sizes);
    rooftile_packed* packed = nullptr;
    detail::check(rooftile_pack(session.get(), &args, &packed));
    packed_ = detail::Owned<rooftile_packed, rooftile_packed_release>(packed);
  }
  /// rooftile_resident_pack.
  PackedMatrix(const Session& session, rooftile_operand operand, const rooftile_gemm_args& call,
               const rooftile_resident_operands& operands,
               const std::vector<std::int64_t>& sizes = {}) {
    const rooftile_gemm_args completed = detail::completed(call);
    const rooftile_resident_operands places = detail::completed(operands);
    const rooftile_pack_args args = pack_args(operand, completed, sizes);
    rooftile_packed* packed = nullptr;
    detail::check(rooftile_resident_pack(session.get(), &args, &places, &packed));
    packed_ = detail::Owned<rooftile_packed, rooftile_packed_release>(packed);
  }

  rooftile_packed_info info() const {
    rooftile_packed_info info = {};
    info.struct_size = sizeof info;
    detail::check(rooftile_packed_query(packed_.get(), &info));
    return info;
  }
  rooftile_packed* get() const noexcept { return packed_.get(); }

 private:
  static rooftile_pack_args pack_args(rooftile_operand operand, const rooftile_gemm_args& call,
                                      const std::vector<std::int64_t>& sizes) {
    rooftile_pack_args args = {};
    args.struct_size = sizeof args;
    args.operand = operand;
    args.call = &call;
    args.sizes = sizes.data();
    args.size_count = sizes.size();
    return args;
  }
  detail::Owned<rooftile_packed, rooftile_packed_release> packed_;
};

}  // namespace rooftile
