// Calls of one GEMM whose tier the context chooses, as in programs.
#pragma once

#include <map>
#include <vector>

#include "bench/contests/dispatch_contest.h"
#include "runtime/dispatch/context.h"

namespace rooftile {

class AutoCalls {
 public:
  explicit AutoCalls(Context& context) : context_(context) {}

  void make(const Problem& p, const ProductOperands& operands, int calls);

  Tier first() const { return first_; }
  int calls() const;
  /// Average of a call. Every tier that answered is among the contestants.
  double regret(const std::vector<const Contestant*>& contestants) const;

 private:
  Context& context_;
  Tier first_ = Tier::kHost;
  std::map<Tier, int> calls_;
};

}  // namespace rooftile
