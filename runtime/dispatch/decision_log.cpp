#include "runtime/dispatch/decision_log.h"

#include <fmt/format.h>

#include <cmath>

#include "core/time_text.h"

namespace rooftile {
namespace {

std::string text_of(const Problem& p, std::string_view about = {}) {
  return fmt::format("{}{}{}{}", to_string(p), p.types == Types{} ? " f32" : "",
                     about.empty() ? "" : ", ", about);
}

std::string prediction(double ns) { return std::isfinite(ns) ? time_text(ns) : "not predicted"; }

}  // namespace

void DecisionLog::say(const Problem& p, const Decision& d, const std::string& kernel,
                      const std::string& quick, std::string_view about) {
  std::string line = fmt::format("{}: {}, ", text_of(p, about), name(d.tier));
  if (d.veto_name == Veto::kNone)
    line += fmt::format("score {:.3g}, device {}, ", d.score, prediction(d.device_ns));
  line += fmt::format("host {}, host1 {}", prediction(d.host_ns), prediction(d.host1_ns));
  if (std::isfinite(d.host64_ns)) line += fmt::format(", host64 {}", time_text(d.host64_ns));
  if (d.veto_name != Veto::kNone) line += fmt::format("; veto {}: {}", name(d.veto_name), d.veto);
  if (!kernel.empty()) line += "; kernel " + kernel;
  if (d.pass_ns > 0)
    line +=
        fmt::format(", with a pass of the host over {} of {}", d.pass_over, prediction(d.pass_ns));
  if (!quick.empty()) line += ", while that is compiled " + quick;
  lines_.say(line);
}

void DecisionLog::say_answer(const Problem& p, const Outcome& outcome, std::string_view about) {
  const std::string_view why = outcome.reason == Reason::kForced      ? "forced"
                               : outcome.reason == Reason::kPrecision ? "for its precision"
                               : outcome.reason == Reason::kFailed    ? "because the device failed"
                                                                      : "";
  if (why.empty()) return;
  lines_.say(fmt::format("{}: {}, {}{}{}", text_of(p, about), name(outcome.tier), why,
                         outcome.kernel != nullptr ? "; kernel " : "",
                         outcome.kernel != nullptr ? short_name(*outcome.kernel) : ""));
}

void DecisionLog::say_note(const Problem& p, std::string_view note) {
  lines_.say(fmt::format("{}: {}", text_of(p), note));
}

void DecisionLog::say_split(const Problem& p, const std::string& how) {
  say_note(p, "split: " + how);
}

void DecisionLog::say_ranks(int ranks, bool measures) {
  log_warning_once("ranks", fmt::format("this is one of {} MPI ranks, which decide alike: calls "
                                        "wait for their best kernel{}",
                                        ranks, measures ? "" : " and are not measured"));
}

void DecisionLog::say_changed(const Problem& p, const TierTimes& times) {
  // Two tiers that take about as long may change places again and again.
  const std::string subject = fmt::format("{}: {} from now on", text_of(p), name(times.in_use()));
  std::string line = subject;
  for (const Tier tier : {Tier::kSplit, Tier::kDevice, Tier::kHost, Tier::kHost1})
    if (const auto time = times.time_of(tier))
      line += fmt::format(", {} {} {}", name(tier), time->measured ? "takes" : "is predicted",
                          time_text(time->ns));
  lines_.say(line, subject);
}

}  // namespace rooftile
