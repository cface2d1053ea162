#include "runtime/dispatch/decision_log.h"

#include <fmt/format.h>

#include <cmath>

#include "core/time_text.h"
#include "runtime/support/log.h"

namespace rooftile {
namespace {

std::string text_of(const Problem& p) { return to_string(p) + (p.types == Types{} ? " f32" : ""); }

std::string prediction(double ns) { return std::isfinite(ns) ? time_text(ns) : "not predicted"; }

}  // namespace

void DecisionLog::say(const Problem& p, const Decision& d, const std::string& kernel,
                      const std::string& quick) {
  std::string line = fmt::format("{}: {}, ", text_of(p), name(d.tier));
  if (d.veto_name == Veto::kNone)
    line += fmt::format("score {:.3g}, device {}, ", d.score, prediction(d.device_ns));
  line += fmt::format("host {}, host1 {}", prediction(d.host_ns), prediction(d.host1_ns));
  if (d.veto_name != Veto::kNone) line += fmt::format("; veto {}: {}", name(d.veto_name), d.veto);
  if (!kernel.empty()) line += "; kernel " + kernel;
  if (d.pass_ns > 0)
    line +=
        fmt::format(", with a pass of the host over {} of {}", d.pass_over, prediction(d.pass_ns));
  if (!quick.empty()) line += ", while that is compiled " + quick;
  say_once(line);
}

void DecisionLog::say_split(const Problem& p, const std::string& how) {
  say_once(fmt::format("{}: split: {}", text_of(p), how));
}

void DecisionLog::say_changed(const Problem& p, const TierTimes& times) {
  std::string line = fmt::format("{}: {} from now on", text_of(p), name(times.in_use()));
  for (const Tier tier : {Tier::kSplit, Tier::kDevice, Tier::kHost, Tier::kHost1})
    if (const auto time = times.time_of(tier))
      line += fmt::format(", {} {} {}", name(tier), time->measured ? "takes" : "is predicted",
                          time_text(time->ns));
  say_once(line);
}

void DecisionLog::say_once(const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (said_.size() < kMostLines && said_.insert(line).second) log_line(line);
}

}  // namespace rooftile
