// Per-thread record of plain calls that have passed all checks except those of their pointers, with
// the host tier that computes them.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "runtime/call/call.h"
#include "runtime/call/plain_call.h"
#include "runtime/dispatch/tier_times.h"

namespace rooftile {

/// Host tier of a call, and the reason for it.
struct HostRoute {
  Tier tier = Tier::kHost;
  Reason reason = Reason::kPredicted;
  /// The context's counter of these calls; null: they are not counted.
  std::atomic<std::int64_t>* untuned_calls = nullptr;
};

/// For one thread. Each slot keeps the last two problems that map to it. `generation`: as in
/// PlanCache.
class RepeatedCalls {
 public:
  class Entry {
   public:
    const PlainProduct& product() const { return product_; }
    const HostRoute& route() const { return route_; }
    TierTimes& times() { return times_; }

    /// Whether all pointers are set and aligned to an element, and C does not overlap A or B. False
    /// is no refusal: operands that may overlap need validate_call.
    bool takes(const PlainCall& call) const {
      const std::uintptr_t a = address(call.a), b = address(call.b), c = address(call.c);
      const bool there = a != 0 && b != 0 && c != 0;
      const bool aligned = ((a | b | c) & (bytes_per_element(product_) - 1)) == 0;
      return there && aligned && apart(a, a_bytes_, c) && apart(b, b_bytes_, c);
    }

   private:
    friend class RepeatedCalls;
    bool is_of(const PlainProduct& p, std::uint64_t generation) const {
      return generation_ == generation && product_ == p;
    }
    static std::uintptr_t address(const void* x) { return reinterpret_cast<std::uintptr_t>(x); }
    bool apart(std::uintptr_t x, std::uintptr_t bytes, std::uintptr_t c) const {
      return x + bytes <= c || c + c_bytes_ <= x;
    }

    std::uint64_t generation_ = 0;  ///< 0: the entry is empty.
    PlainProduct product_;
    /// From the first to the last element.
    std::uintptr_t a_bytes_ = 0, b_bytes_ = 0, c_bytes_ = 0;
    HostRoute route_;
    TierTimes times_;
  };

  /// Returns nullptr when the problem is not recorded.
  Entry* find(const PlainProduct& p, std::uint64_t generation) {
    for (Entry& entry : places_[place(p)])
      if (entry.is_of(p, generation)) return &entry;
    return nullptr;
  }

  /// Records a problem that has passed validate() and reads A and B. `times` holds the tiers on
  /// which its calls are measured, if any; calls may then leave the route's tier.
  void store(const PlainProduct& p, std::uint64_t generation, const HostRoute& route,
             const TierTimes& times = {}) {
    const Problem problem = problem_of(p);
    const auto bytes = [&](std::int64_t elements) {
      return static_cast<std::uintptr_t>(elements) * bytes_per_element(p);
    };
    auto& [entry, older] = places_[place(p)];
    if (!entry.is_of(p, generation)) older = entry;
    entry.generation_ = generation;
    entry.product_ = p;
    entry.a_bytes_ = bytes(span_a(problem));
    entry.b_bytes_ = bytes(span_b(problem));
    entry.c_bytes_ = bytes(span_c(problem));
    entry.route_ = route;
    entry.times_ = times;
  }

 private:
  static constexpr int kBits = 6;  ///< Bits of a slot's index.

  static std::uintptr_t bytes_per_element(const PlainProduct& p) {
    return p.float64 ? sizeof(double) : sizeof(float);
  }

  /// Multiply-shift hash (Dietzfelbinger 1997): problems that differ in any field are spread over
  /// the slots. The hash loads each field separately, because loading two fields as one word
  /// directly after storing them would stall.
  static std::size_t place(const PlainProduct& p) {
    const auto times = [](auto x, std::uint64_t odd) {
      return odd * static_cast<std::uint32_t>(x);
    };
    // Scalars that differ in their low bits only share a slot.
    const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x) >> 32; };
    const std::uint32_t flags = static_cast<std::uint32_t>(p.trans_a) |
                                static_cast<std::uint32_t>(p.trans_b) << 1 |
                                static_cast<std::uint32_t>(p.float64) << 2;
    const std::uint64_t sum = times(p.m, 0x9e3779b97f4a7c15) + times(p.n, 0xbf58476d1ce4e5b9) +
                              times(p.k, 0x94d049bb133111eb) + times(p.lda, 0xff51afd7ed558ccd) +
                              times(p.ldb, 0xc4ceb9fe1a85ec53) + times(p.ldc, 0x2545f4914f6cdd1d) +
                              times(bits(p.alpha), 0xd6e8feb86659fd93) +
                              times(bits(p.beta), 0xa0761d6478bd642f) +
                              times(flags, 0xe7037ed1a0b428db);
    return static_cast<std::size_t>(sum >> (64 - kBits));
  }
  std::array<std::array<Entry, 2>, std::size_t{1} << kBits> places_ = {};
};

}  // namespace rooftile
