#include "bench/contests/search_curves.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdio.h>

#include <algorithm>

#include "bench/contests/program.h"
#include "core/error.h"

namespace rooftile {

Curve summarized(const std::string& space, const std::string& label,
                 const std::vector<std::vector<double>>& shares) {
  Curve curve{space, label, {}};
  for (std::size_t n = 0; n < shares.front().size(); ++n) {
    std::vector<double> values;
    for (const std::vector<double>& of_seed : shares) values.push_back(of_seed[n]);
    curve.levels.push_back({median(values), median_interval(values)});
  }
  return curve;
}

void write_csv(const std::string& file, std::span<const Curve> curves) {
  CsvFile csv(file, "space,strategy,candidates,median,low,high");
  for (const Curve& curve : curves)
    for (std::size_t n = 0; n < curve.levels.size(); ++n)
      csv.add(fmt::format("{},\"{}\",{},{:.4f},{:.4f},{:.4f}", curve.space, curve.label, n + 1,
                          curve.levels[n].middle, curve.levels[n].interval.low,
                          curve.levels[n].interval.high));
}

void plot(const std::string& file, std::span<const Curve> curves) {
  std::vector<std::string> spaces, labels;
  const auto add = [](std::vector<std::string>& list, const std::string& text) {
    if (std::ranges::find(list, text) == list.end()) list.push_back(text);
  };
  for (const Curve& curve : curves) {
    add(spaces, curve.space);
    add(labels, curve.label);
  }
  constexpr std::size_t kColumns = 4;
  const std::size_t panels = spaces.size() + 1;  // The last one is the legend.
  const std::size_t rows = (panels + kColumns - 1) / kColumns;
  std::string script = fmt::format(
      "set terminal {} size {},{} background '#ffffff' font 'sans,11'\nset output '{}'\n"
      "set multiplot layout {},{}\nset logscale x 2\nset yrange [0:100]\nset grid\n"
      "set xlabel 'candidates measured'\nset ylabel '% of the optimum'\nset key off\n",
      file.ends_with(".png") ? "pngcairo" : "svg", kColumns * 360, rows * 280, file, rows,
      kColumns);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    script += fmt::format("$d{} << EOD\n", i);
    for (std::size_t n = 0; n < curves[i].levels.size(); ++n) {
      const Level& level = curves[i].levels[n];
      script += fmt::format("{} {} {} {}\n", n + 1, 100 * level.middle, 100 * level.interval.low,
                            100 * level.interval.high);
    }
    script += "EOD\n";
  }
  // gnuplot has eight colours. Further curves reuse them with dashed lines.
  const auto style = [&](const std::string& label) {
    const auto place = std::ranges::find(labels, label) - labels.begin();
    return fmt::format("lt {} dt {}", place % 8 + 1, place / 8 + 1);
  };
  for (const std::string& space : spaces) {
    script += fmt::format("set title '{}' noenhanced\n", space);
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < curves.size(); ++i) {
      if (curves[i].space != space) continue;
      const std::string lines = style(curves[i].label);
      parts.push_back(
          fmt::format("$d{} using 1:3:4 with filledcurves {} fs transparent solid 0.12, "
                      "$d{} using 1:2 with lines lw 2 {}",
                      i, lines.substr(0, lines.find(" dt")), i, lines));
    }
    script += fmt::format("plot {}\n", fmt::join(parts, ", "));
  }
  script +=
      "unset title; unset xlabel; unset ylabel; unset tics; unset border; unset grid\n"
      "unset logscale; set key on left top; set xrange [0:1]; set yrange [0:1]\n";
  std::vector<std::string> keys;
  for (const std::string& label : labels)
    keys.push_back(fmt::format("NaN with lines lw 2 {} title '{}'", style(label), label));
  script += fmt::format("plot {}\nunset multiplot\n", fmt::join(keys, ", "));
  FILE* const gnuplot = ::popen("gnuplot", "w");
  if (gnuplot == nullptr) fail(ErrorCode::kIo, "cannot start a shell for gnuplot");
  std::fwrite(script.data(), 1, script.size(), gnuplot);
  if (::pclose(gnuplot) != 0)
    fail(ErrorCode::kIo, "gnuplot failed and {} is not drawn; it is Debian's package gnuplot-nox",
         file);
}

}  // namespace rooftile
