#include "shrink.h"

#include <algorithm>
#include <vector>

#include "draw.h"
#include "generator/space.h"

namespace rooftile {
namespace {

using Cut = std::function<void(SoakCase&)>;

Problem with_least_memory(const Problem& p) {
  Problem least = is_grouped(p)
                      ? grouped_problem(p.m, p.n, p.k, p.grouping, p.trans_b, p.types)
                      : packed_problem(p.m, p.n, p.k, p.trans_a, p.trans_b, p.batch, p.types);
  least.alpha = p.alpha;
  least.beta = p.beta;
  least.epilogue = p.epilogue;
  return least;
}

/// Sets ld and strides for new sizes: the least ones, or the old ones where they are enough.
void resize(SoakCase& test, std::int64_t Problem::*size, std::int64_t value) {
  Problem& p = test.problem;
  p.*size = value;
  const Problem least = with_least_memory(p);
  for (const auto member : {&Problem::lda, &Problem::ldb, &Problem::ldc})
    p.*member = std::max(p.*member, least.*member);
  if (quantized(p.types)) p.ldb = least.ldb;
  if (is_grouped(p)) {
    std::int64_t left = p.m;
    for (Group& group : test.groups) {
      group.rows = std::min(group.rows, left);
      left -= group.rows;
    }
    p.grouping = grouping_of(test.groups, p.grouping.experts);
  }
}

void add_sizes(std::vector<Cut>& cuts) {
  for (const auto size : {&Problem::m, &Problem::n, &Problem::k, &Problem::batch}) {
    cuts.emplace_back([size](SoakCase& x) { resize(x, size, 1); });
    cuts.emplace_back([size](SoakCase& x) { resize(x, size, x.problem.*size / 2); });
    cuts.emplace_back([size](SoakCase& x) { resize(x, size, x.problem.*size - 1); });
  }
}

void add_epilogue(std::vector<Cut>& cuts) {
  cuts.emplace_back([](SoakCase& x) { x.problem.epilogue = {}; });
  for (const auto member :
       {&Epilogue::row_scale, &Epilogue::column_scale, &Epilogue::residual, &Epilogue::clamp})
    cuts.emplace_back([member](SoakCase& x) { x.problem.epilogue.*member = false; });
  cuts.emplace_back([](SoakCase& x) { x.problem.epilogue.bias = Bias::kNone; });
  cuts.emplace_back([](SoakCase& x) { x.problem.epilogue.activation = Activation::kNone; });
}

void add_memory(std::vector<Cut>& cuts) {
  cuts.emplace_back([](SoakCase& x) { x.problem = with_least_memory(x.problem); });
  for (const auto member : {&Problem::lda, &Problem::ldb, &Problem::ldc, &Problem::stride_a,
                            &Problem::stride_b, &Problem::stride_c})
    cuts.emplace_back(
        [member](SoakCase& x) { x.problem.*member = with_least_memory(x.problem).*member; });
}

std::vector<Cut> all_cuts() {
  std::vector<Cut> cuts = {
      [](SoakCase& x) { x.kernel = fallback_variant(); },
      [](SoakCase& x) { x.accuracy = Accuracy::kDefault, x.scan = x.spots = false; },
      [](SoakCase& x) { x.special = Special::kNothing, x.seed = 0; },
      [](SoakCase& x) { x.nan_in_c = false; },
      [](SoakCase& x) { x.alias = Alias::kNone; },
      [](SoakCase& x) { x.shift = 0; },
      [](SoakCase& x) { x.deterministic = false; },
      [](SoakCase& x) { x.host = HostSpeed::kSlow; },
      [](SoakCase& x) { x.way = Way::kGemm; },
      [](SoakCase& x) { x.layout = Layout::kRowMajor; },
      [](SoakCase& x) { x.problem.alpha = 1; },
      [](SoakCase& x) { x.problem.beta = 0; },
      [](SoakCase& x) {
        if (!x.groups.empty()) x.groups.pop_back();
        if (is_grouped(x.problem))
          x.problem.grouping = grouping_of(x.groups, x.problem.grouping.experts);
      }};
  add_epilogue(cuts);
  add_memory(cuts);
  add_sizes(cuts);
  for (const std::string& parameter : parameter_names())
    if (parameter != "family")
      cuts.emplace_back([parameter](SoakCase& x) {
        const auto plain = parameters({.family = x.kernel.family});
        const auto found =
            std::ranges::find(plain, parameter, [](const auto& y) { return y.first; });
        set_parameter(x.kernel, parameter, found->second);
      });
  return cuts;
}

}  // namespace

SoakCase shrunk(SoakCase test, const std::function<bool(const SoakCase&)>& still_fails,
                int most_trials) {
  const std::vector<Cut> cuts = all_cuts();
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const Cut& cut : cuts) {
      SoakCase candidate = test;
      cut(candidate);
      // The kernel stays one for the class of the problem.
      if (test.tuned == signature_of(test.problem))
        candidate.tuned = signature_of(candidate.problem);
      if (candidate == test || !goes_together(candidate)) continue;
      if (--most_trials < 0) return test;
      if (!still_fails(candidate)) continue;
      test = candidate;
      smaller = true;
    }
  }
  return test;
}

}  // namespace rooftile
