#include "bench/contests/auto_calls.h"

#include "runtime/call/plain_call.h"

namespace rooftile {

void AutoCalls::make(const Problem& p, const ProductOperands& operands, int calls) {
  const GemmCall call = call_of(p, operands);
  const PlainCall again = {
      .product = plain_product(p).value(), .a = call.a, .b = call.b, .c = call.c};
  for (int i = 0; i < calls; ++i) {
    if (!context_.gemm_again(again)) context_.gemm(call);
    const Tier tier = context_.last_answer().value().tier;
    if (calls_.empty()) first_ = tier;
    ++calls_[tier];
  }
}

int AutoCalls::calls() const {
  int sum = 0;
  for (const auto& [tier, calls] : calls_) sum += calls;
  return sum;
}

double AutoCalls::regret(const std::vector<const Contestant*>& contestants) const {
  double sum = 0;
  for (const auto& [tier, calls] : calls_) sum += calls * regret_of(tier, contestants);
  return sum / calls();
}

}  // namespace rooftile
