// C++ wrapper of grouped.h and experts.h. It adds only struct sizes and exceptions. Part of
// rooftile.hpp.
#pragma once

#include <rooftile/experts.h>
#include <rooftile/grouped.h>
#include <rooftile/packed.h>

#include <rooftile/resident.hpp>

namespace rooftile {

namespace detail {
inline rooftile_groups completed(rooftile_groups groups) {
  groups.struct_size = sizeof groups;
  return groups;
}

/// The operands with their struct sizes; they refer to each other.
struct GroupedOperands {
  GroupedOperands(const rooftile_resident_operands& places, rooftile_grouped_operands of_groups)
      : resident(completed(places)), grouped(of_groups) {
    grouped.struct_size = sizeof grouped;
    grouped.operands = &resident;
  }
  GroupedOperands(const GroupedOperands&) = delete;
  GroupedOperands& operator=(const GroupedOperands&) = delete;

  rooftile_resident_operands resident;
  rooftile_grouped_operands grouped;
};
}  // namespace detail

/// Calls rooftile_grouped_gemm. Here and below struct_size is filled in, and batch 0 becomes 1.
/// Throws StatusError, with C as rooftile_grouped_gemm leaves it.
inline void grouped_gemm(const Session& session, const rooftile_gemm_args& args,
                         const rooftile_groups& groups) {
  const rooftile_gemm_args problem = detail::completed(args);
  const rooftile_groups sizes = detail::completed(groups);
  detail::check(rooftile_grouped_gemm(session.get(), &problem, &sizes));
}

/// Calls rooftile_resident_grouped_gemm; `of_groups` has the places of sizes, experts and status.
/// Throws StatusError.
inline DeviceRun grouped_gemm(const Session& session, const rooftile_gemm_args& args,
                              const rooftile_groups& groups,
                              const rooftile_resident_operands& operands,
                              const rooftile_grouped_operands& of_groups = {}) {
  const rooftile_gemm_args problem = detail::completed(args);
  const rooftile_groups sizes = detail::completed(groups);
  const detail::GroupedOperands places(operands, of_groups);
  rooftile_run* run = nullptr;
  detail::check(
      rooftile_resident_grouped_gemm(session.get(), &problem, &sizes, &places.grouped, &run));
  return DeviceRun(run);
}

/// Calls rooftile_list_grouped_gemm. Throws StatusError.
inline void grouped_gemm(DeviceList& list, const rooftile_gemm_args& args,
                         const rooftile_groups& groups, const rooftile_resident_operands& operands,
                         const rooftile_grouped_operands& of_groups = {}) {
  const rooftile_gemm_args problem = detail::completed(args);
  const rooftile_groups sizes = detail::completed(groups);
  const detail::GroupedOperands places(operands, of_groups);
  detail::check(rooftile_list_grouped_gemm(list.get(), &problem, &sizes, &places.grouped));
}

/// Call rooftile_list_top_k, rooftile_list_group_tokens, rooftile_list_gather and
/// rooftile_list_combine. A default-constructed place is an operand that is left out. Throw
/// StatusError, with the list unchanged.
inline void top_k(DeviceList& list, rooftile_top_k_args args, const rooftile_place& x,
                  const rooftile_place& experts, const rooftile_place& weights) {
  args.struct_size = sizeof args;
  detail::check(rooftile_list_top_k(list.get(), &args, x, experts, weights));
}
inline void group_tokens(DeviceList& list, rooftile_group_tokens_args args,
                         const rooftile_place& experts_of_tokens, const rooftile_place& sizes,
                         const rooftile_place& sources, const rooftile_place& places,
                         const rooftile_place& status = {}) {
  args.struct_size = sizeof args;
  detail::check(rooftile_list_group_tokens(list.get(), &args, experts_of_tokens, sizes, sources,
                                           places, status));
}
inline void gather(DeviceList& list, rooftile_gather_args args, const rooftile_place& x,
                   const rooftile_place& sources, const rooftile_place& y,
                   const rooftile_place& status = {}) {
  args.struct_size = sizeof args;
  detail::check(rooftile_list_gather(list.get(), &args, x, sources, y, status));
}
inline void combine(DeviceList& list, rooftile_combine_args args, const rooftile_place& x,
                    const rooftile_place& places, const rooftile_place& weights,
                    const rooftile_place& residual, const rooftile_place& y,
                    const rooftile_place& status = {}) {
  args.struct_size = sizeof args;
  detail::check(rooftile_list_combine(list.get(), &args, x, places, weights, residual, y, status));
}

/// Owner of packed experts. Movable. The constructor throws StatusError.
class PackedExperts {
 public:
  PackedExperts() = default;
  PackedExperts(const Session& session, const rooftile_gemm_args& args,
                const rooftile_groups& groups, const rooftile_resident_operands& operands) {
    const rooftile_gemm_args problem = detail::completed(args);
    const rooftile_groups sizes = detail::completed(groups);
    const rooftile_resident_operands places = detail::completed(operands);
    rooftile_packed* packed = nullptr;
    detail::check(
        rooftile_resident_pack_experts(session.get(), &problem, &sizes, &places, &packed));
    packed_ = detail::Owned<rooftile_packed, rooftile_packed_release>(packed);
  }
  rooftile_packed* get() const noexcept { return packed_.get(); }

 private:
  detail::Owned<rooftile_packed, rooftile_packed_release> packed_;
};

}  // namespace rooftile
