#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "core/error.h"
#include "runtime/context.h"

namespace rooftile {
namespace {

nlohmann::json number(double x) {
  return std::isfinite(x) ? nlohmann::json(x) : nlohmann::json(nullptr);
}

void print_json(const Problem& p, const Explanation& e) {
  const Decision& d = e.decision;
  nlohmann::json factors = nlohmann::json::array();
  for (const Factor& f : d.factors)
    factors.push_back({{"name", f.name}, {"value", number(f.value)}, {"ns", number(f.ns)}});
  const nlohmann::json all = {{"problem", to_string(p)},
                              {"tier", name(d.tier)},
                              {"score", d.score},
                              {"device_ns", number(d.device_ns)},
                              {"host_ns", number(d.host_ns)},
                              {"host1_ns", number(d.host1_ns)},
                              {"submit_ns", number(d.submit_ns)},
                              {"upload_ns", number(d.upload_ns)},
                              {"kernel_ns", number(d.kernel_ns)},
                              {"download_ns", number(d.download_ns)},
                              {"factors", factors},
                              {"device", e.device_name},
                              {"kernel", e.kernel},
                              {"veto", d.veto},
                              {"note", e.note}};
  fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string prediction_text(double ns) {
  return std::isfinite(ns) ? time_text(ns) : "not predicted";
}

void print_text(const Problem& p, const Explanation& e) {
  const Decision& d = e.decision;
  fmt::print("{}{}, operands in host memory: {}\n\n", to_string(p),
             p.types == Types{} ? " f32" : "", name(d.tier));
  fmt::print("{:<22} {:>10}  {:>12}\n", "factor", "value", "costs device");
  for (const Factor& f : d.factors)
    fmt::print("{:<22} {:>10.4f}  {:>12}\n", f.name, f.value,
               std::isfinite(f.ns) ? fmt::format("{:+.1f} us", f.ns * 1e-3) : "-");
  fmt::print("{:<22} {:>10.4f}  (host over device; above 1 the device wins)\n\n", "product = score",
             d.score);
  fmt::print("device  {:>14}", prediction_text(d.device_ns));
  if (std::isfinite(d.device_ns))
    fmt::print("  = submit {} + upload {} + kernel {} + download {}", time_text(d.submit_ns),
               time_text(d.upload_ns), time_text(d.kernel_ns), time_text(d.download_ns));
  fmt::print("\nhost    {:>14}\nhost1   {:>14}\n", prediction_text(d.host_ns),
             prediction_text(d.host1_ns));
  if (!e.device_name.empty()) fmt::print("\ndevice: {}\n", e.device_name);
  if (!e.kernel.empty()) fmt::print("kernel: {}\n", e.kernel);
  if (!d.veto.empty()) fmt::print("\nthe device is out of the race: {}\n", d.veto);
}

}  // namespace

void add_explain(CLI::App& app, const Globals& globals, Action& action) {
  CLI::App* command = app.add_subcommand("explain", "Say where a product would run, and why");
  command->footer("Example: rooftile explain --m 1024 --n 1024 --k 1024");
  static ProblemOptions sizes;
  static std::string tier = "auto";
  static bool json = false;
  sizes.add_to(*command, true);
  command->add_option("--tier", tier, "auto, device, host, host1, host64");
  command->add_flag("--json", json, "As JSON");
  command->callback([&] {
    action = [&] {
      const Context context({.database = globals.database(), .device = globals.device});
      const Problem p = sizes.problem();
      const Explanation explanation =
          context.explain({.problem = p, .tier = parse_tier_choice(tier)});
      if (json) {
        print_json(p, explanation);
      } else {
        print_text(p, explanation);
      }
      return kDone;
    };
  });
}

}  // namespace rooftile
