#include "web/engine/certification.h"

#include "core/error.h"
#include "web/engine/programs.h"

namespace rooftile::web {

Certification::Certification(const Variant& v, const Signature& s, const DeviceLimits& limits)
    : v_(v), limits_(limits), cases_(certification_cases(v, s, limits)) {
  if (cases_.empty())
    fail(ErrorCode::kUnsupported, "no certification problem is legal for the kernel '{}'",
         short_name(v));
}

Json Certification::prepare(std::size_t index) {
  if (index >= cases_.size())
    fail(ErrorCode::kInvalidArgument, "there is no certification case {}", index);
  current_ = index;
  const CertificationCase& test = cases_[index];
  operands_ = certification_operands(test);
  result_.assign(operands_->c.size(), 0);
  Json json = programs_of(v_, limits_, test.problem, operands_->placement);
  Json& memory = json["memory"] = Json::object();
  const auto add = [&](const char* name, const std::vector<char>& content) {
    if (!content.empty()) memory[name] = memory_of(content);
  };
  add("a", operands_->a);
  add("b", operands_->b);
  add("c", operands_->c);
  add("scales", operands_->scales);
  add("zero_points", operands_->zero_points);
  json["problem"] = to_string(test.problem);
  return json;
}

std::span<char> Certification::result() { return result_; }

Json Certification::compare() const {
  if (!operands_) fail(ErrorCode::kInvalidArgument, "no certification case was prepared");
  const CaseResult result = compare_result(cases_[current_], *operands_, result_.data());
  return {{"ok", result.wrong.empty()}, {"ratio", result.worst_ratio}, {"wrong", result.wrong}};
}

}  // namespace rooftile::web
