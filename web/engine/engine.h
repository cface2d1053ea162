// The engine behind one function: requests and answers are JSON, so that the page, node and native
// tests call it alike.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "web/engine/certification.h"
#include "web/engine/tuning.h"

namespace rooftile::web {

class Engine {
 public:
  /// Answers a request {"op": name, ...}; never throws. A failure is {"error": sentence}.
  ///
  /// | op | further members | answer |
  /// | start | problem, adapter, rates, strategy, seed, known | candidates, flops, bound_ns |
  /// | propose | count | proposed: numbers of candidates |
  /// | observe | candidate, ns (null: it failed) | |
  /// | candidate | candidate | variant, name, family, expected_ns |
  /// | programs | variant or candidate | as web/engine/programs.h |
  /// | operands | | memory of random operands of the problem |
  /// | roofline | variant, ns | bounds in ns, intensity, share of the bound |
  /// | certify | variant, problem, adapter | cases |
  /// | prepare | case | as Certification::prepare, with "result": memory for C |
  /// | compare | | as Certification::compare |
  ///
  /// `certify` needs no `start`: another worker than the one that searches calls it.
  std::string answer(std::string_view request);

 private:
  Json dispatch(const Json& request);
  Json start(const Json& request);
  Json propose(const Json& request);
  Json observe(const Json& request);
  Json candidate(const Json& request);
  Json programs(const Json& request);
  Json operands(const Json& request);
  Json roofline_of(const Json& request);
  Json certify(const Json& request);
  Json prepare(const Json& request);
  Tuning& tuning();
  Certification& certification();
  Variant variant_of(const Json& request);

  std::unique_ptr<Tuning> tuning_;
  std::unique_ptr<Certification> certification_;
  std::vector<std::vector<char>> operands_;
};

}  // namespace rooftile::web
