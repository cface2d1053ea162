#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "cli/explanation.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/text_table.h"
#include "core/time_text.h"

namespace rooftile {
namespace {

std::string prediction_text(double ns) {
  return std::isfinite(ns) ? time_text(ns) : "not predicted";
}

/// "host" stands for the faster of its tiers.
std::string_view other_side(Tier tier) { return tier == Tier::kDevice ? "host" : "device"; }

/// Choice of the model, even where a tier is forced.
Tier predicted_tier(const Decision& d) { return d.score > 1 ? Tier::kDevice : Tier::kHost; }

std::string residency_text(const Residencies& where) {
  std::string resident;
  const auto add = [&](Residency residency, std::string_view operand) {
    if (residency == Residency::kDevice)
      resident += fmt::format("{}{}", resident.empty() ? "" : ", ", operand);
  };
  add(where.a, "a");
  add(where.b, "b");
  add(where.c, "c");
  std::string packed;
  if (where.a == Residency::kPacked) packed = "a packed before";
  if (where.b == Residency::kPacked) packed = "b packed before";
  if (resident.empty()) return packed.empty() ? "operands in host memory" : packed;
  return fmt::format("{} on the device{}{}", resident, packed.empty() ? "" : ", ", packed);
}

std::string ratio_text(double ratio) {
  return ratio < 10 ? fmt::format("{:.2f}", ratio) : fmt::format("{:.0f}", ratio);
}

std::string measured_text(const Explanation& e) {
  std::string text;
  const auto add = [&](std::optional<double> ns, std::string_view what) {
    if (ns)
      text += fmt::format("{}{} {}", text.empty() ? "measured: " : ", ", what, time_text(*ns));
  };
  add(e.measured_kernel_ns, "kernel");
  add(e.measured_host_ns, "host");
  add(e.measured_host1_ns, "host1");
  return text.empty() ? "measured: nothing on these sizes\n" : text + "\n";
}

/// "a in place, b staged, c staged": the transfer path of each operand.
std::string transfer_paths_text(const TransferPaths& transfer_paths) {
  std::string text;
  const auto add = [&](std::string_view operand, TransferPath transfer_path) {
    if (transfer_path == TransferPath::kNone) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", operand,
                        transfer_path == TransferPath::kInPlace  ? "in place"
                        : transfer_path == TransferPath::kCopied ? "copied by the device"
                                                                 : "staged");
  };
  add("a", transfer_paths.a);
  add("b", transfer_paths.b);
  if (transfer_paths.c_in != TransferPath::kNone && transfer_paths.c_in != transfer_paths.c_out) {
    add("c", transfer_paths.c_in);
    add("c back", transfer_paths.c_out);
  } else {
    add("c", transfer_paths.c_out);
  }
  return text;
}

std::string factor_table(const Decision& d) {
  std::string text = fmt::format("{:<22} {:>10}  {:>12}\n", "factor", "value", "costs device");
  for (const Factor& f : d.factors) {
    text += fmt::format("{:<22} {:>10.4f}  {:>12}", f.name, f.value,
                        std::isfinite(f.ns) ? fmt::format("{:+.1f} us", f.ns * 1e-3 + 0.0) : "-");
    if (f.name == "gpu_class" && d.transfer_paths != TransferPaths{})
      text += "  " + transfer_paths_text(d.transfer_paths);
    text += "\n";
  }
  return text + fmt::format("{:<22} {:>10.4f}  (host over device; above 1 the device is faster)\n",
                            "product = score", d.score);
}

/// How a kernel computes a class that was not tuned; empty for a tuned class.
std::string means_text(const Explanation& e) {
  const std::string_view means = e.means, pass_over = e.decision.pass_over;
  if (means == "host_pass")
    return fmt::format(", of the plain product in {}{}", e.product,
                       pass_over == "c" ? "" : ", to which the host widens the operands") +
           (e.float64_sums
                ? ""
                : fmt::format("; a kernel that needs no pass of the host over {} is certified in "
                              "the background by calls that would gain by it",
                              pass_over));
  if (means == "device_pass")
    return ", of the plain product, and a pass of the device over c; a kernel that needs no pass "
           "is certified in the background, unless the context is deterministic";
  return means == "certified" ? ", certified on demand" : "";
}

std::string_view forced_text(std::string_view forced_device) {
  if (forced_device == "fails") return "; such a call fails (UNSUPPORTED)";
  if (forced_device == "certifies_first") return "; such a call waits until a kernel is certified";
  return "";
}

std::string device_prediction(const Decision& d) {
  std::string text = fmt::format("device  {:>14}", prediction_text(d.device_ns));
  if (std::isfinite(d.device_ns))
    text +=
        fmt::format("  = submit {} + upload {} + kernel {} + download {}", time_text(d.submit_ns),
                    time_text(d.upload_ns), time_text(d.kernel_ns), time_text(d.download_ns));
  if (std::isfinite(d.device_ns) && d.pass_ns > 0)
    text += fmt::format(
        " + pass of {} {}",
        d.pass_over.empty() ? "the device over c" : fmt::format("the host over {}", d.pass_over),
        time_text(d.pass_ns));
  if (d.overlapped_ns > 0)
    text += fmt::format("; {} of transfers behind kernels", time_text(d.overlapped_ns));
  return text + "\n";
}

std::string host_predictions(const Decision& d) {
  return fmt::format("host    {:>14}\nhost1   {:>14}\n", prediction_text(d.host_ns),
                     prediction_text(d.host1_ns)) +
         (std::isfinite(d.host64_ns) ? fmt::format("host64  {:>14}\n", prediction_text(d.host64_ns))
                                     : "");
}

/// Empty where no split was asked for.
std::string split_text(const SplitExplanation& split) {
  if (split.reason.empty()) return "";
  return fmt::format("\nsplit: {}\n  {}\n",
                     split.wins ? fmt::format("{} in {}", split.shares, time_text(split.ns)) : "no",
                     split.reason);
}

std::string breakeven_text(std::optional<double> elements) {
  if (!elements) return fmt::format("does not pay up to {} elements", element_range(1).highest);
  return *elements > 1 ? fmt::format("pays from {:.0f} elements on", *elements) : "always pays";
}

}  // namespace

std::string flip_text(const NamedFlip& named, Tier chosen) {
  const Flip& flip = named.flip;
  const std::string_view other = other_side(chosen);
  if (!flip.below && !flip.above)
    return fmt::format("never flips from {} to {}", flip.searched.lowest, flip.searched.highest);
  const std::string below = flip.below ? fmt::format("{} from {} down", other, *flip.below)
                                       : fmt::format("no change down to {}", flip.searched.lowest);
  const std::string above = flip.above ? fmt::format("{} from {} up", other, *flip.above)
                                       : fmt::format("no change up to {}", flip.searched.highest);
  return below + "; " + above;
}

std::string counterfactual_text(const ExplainedWork& work) {
  const Decision& d = work.explanation.decision;
  if (!depends_on_size(d.veto_name)) return "no other size would change that";
  const Tier chosen = predicted_tier(d);
  std::string text = d.veto_name != Veto::kNone
                         ? "the device cannot compute it"
                         : fmt::format("the {} would take {} x as long", other_side(chosen),
                                       ratio_text(chosen == Tier::kDevice ? d.score : 1 / d.score));
  const NamedFlip* flip = nearest(work.flips);
  if (flip == nullptr) return text + "; no other size would change that";
  const std::optional<std::int64_t>&below = flip->flip.below, &above = flip->flip.above;
  const double size = static_cast<double>(flip->size);
  const bool down =
      below && (!above || size / static_cast<double>(*below) <= static_cast<double>(*above) / size);
  return text + fmt::format("; {} from {} = {} {}", other_side(chosen), flip->what,
                            down ? *below : *above, down ? "down" : "up");
}

std::string text_of(const ExplainedWork& work) {
  const Explanation& e = work.explanation;
  const Decision& d = e.decision;
  std::string text = fmt::format("{}{}, {}: {}{}{}\n", work.what,
                                 e.float64_sums         ? " with float64 sums"
                                 : e.may_round_operands ? " with operands that may be rounded"
                                                        : "",
                                 residency_text(work.where), name(d.tier),
                                 e.for_precision ? " (for its precision)"
                                 : e.forced      ? " (forced)"
                                                 : "",
                                 forced_text(e.forced_device));
  text += fmt::format("{:.4g} flops, {:.4g} bytes, {:.4g} flops a byte\n\n", work.operation.flops,
                      work.operation.bytes, work.operation.flops / work.operation.bytes);
  if (d.veto_name != Veto::kNone)  // A veto has neither factors nor a device time.
    text += fmt::format("the device {} ({}): {}\n\n",
                        e.forced_device == "runs" || e.forced_device == "certifies_first"
                            ? "is not predicted"
                            : "cannot be used",
                        name(d.veto_name), d.veto);
  else
    text += factor_table(d) + "\n" + device_prediction(d);
  text += host_predictions(d) + measured_text(e) + "\n";
  text += counterfactual_text(work) + "\n";
  for (const NamedFlip& flip : work.flips)
    text += fmt::format("  {:<24} {}\n", fmt::format("{} = {}", flip.what, flip.size),
                        flip_text(flip, predicted_tier(d)));
  if (!e.device_name.empty()) text += fmt::format("\ndevice: {}\n", e.device_name);
  if (!e.kernel.empty()) text += fmt::format("kernel: {}{}\n", e.kernel, means_text(e));
  if (!e.why_not_rounded.empty())
    text += fmt::format("operands may be rounded, but none is: {}\n", e.why_not_rounded);
  if (!e.quick_kernel.empty()) text += fmt::format("while it is compiled: {}\n", e.quick_kernel);
  return text + split_text(e.split);
}

std::string text_of(const ExplainedTable& table) {
  std::string text =
      fmt::format("{}, {}\n\n", table.device.empty() ? "no tuned device" : table.device,
                  residency_text(table.where));
  TextTable rows({{"problem", Align::kLeft},
                  {"flops"},
                  {"flops/byte"},
                  {"usable"},
                  {"device"},
                  {"host"},
                  {"tier", Align::kLeft},
                  {"score"}});
  for (const ExplainedTable::Row& row : table.rows) {
    const Operation operation = operation_of(row.row);
    const Decision& d = row.decision;
    rows.add({std::string(row.row.what), fmt::format("{:.3g}", operation.flops),
              fmt::format("{:.4g}", operation.flops / operation.bytes),
              row.utilisation ? fmt::format("{:.1f} %", 100 * *row.utilisation) : "-",
              std::isfinite(d.device_ns) ? time_text(d.device_ns) : "-",
              std::isfinite(d.best_host_ns) ? time_text(d.best_host_ns) : "-",
              std::string(name(d.tier)),
              d.veto.empty() ? fmt::format("{:.4g}", d.score) : std::string(name(d.veto_name))});
  }
  text += rows.text("", terminal_columns(STDOUT_FILENO));
  if (table.ridge_intensity)
    text += fmt::format(
        "\nridge {:.4g} flops a byte; a GEMM with operands on the device takes longer than its "
        "submission from {:.4g} flops on\n",
        *table.ridge_intensity, *table.breakeven_flops);
  const bool compared = std::ranges::any_of(table.rows, [](const ExplainedTable::Row& row) {
    return row.decision.veto_name == Veto::kNone;
  });
  if (compared)
    text += "element-wise, 4 bytes read and 4 written, on the device already: " +
            breakeven_text(table.breakeven_elements) + "\n";
  if (!table.note.empty()) text += fmt::format("\n{}\n", table.note);
  return text;
}

}  // namespace rooftile
