// Measures what a call takes without its kernel: empty dispatches, copies by size and path, and
// whole calls beside the sum of their predicted parts. Calls run in turn: on the device with staged
// operands, on the device with the predicted transfer paths (imported host memory among them), on
// the host's BLAS, and on the dispatcher's choice. Last the time a call of one to eight threads
// whose operands are staged.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <future>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bench/contests/floor.h"
#include "bench/contests/program.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/numbers/random.h"
#include "core/numbers/statistics.h"
#include "core/time_text.h"
#include "db/store.h"
#include "runtime/dispatch/context.h"
#include "runtime/verify/random_operand.h"

namespace rooftile::transfer_bench {
namespace {

// A slower call is not repeated, and no round of a problem begins later than this after its first.
constexpr double kLongestCallNs = 1e9, kLongestRoundsNs = 2e9;

struct Options {
  std::filesystem::path database;
  std::set<std::string> parts = {"dispatches", "copies", "calls", "threads"};
  int rounds = 15;
  double seconds = 60;
  std::string csv;
};

Problem problem(std::int64_t m, std::int64_t n, std::int64_t k, Transpose trans_b, float beta) {
  Problem p = packed_problem(m, n, k, Transpose::kNo, trans_b);
  p.beta = beta;
  return p;
}

/// Squares, transformer weights with few rows, row lengths that are no multiple of the vector
/// width, and a GEMM that is computed in slices where buffers are small.
std::vector<Problem> usual_problems() {
  constexpr auto kNo = Transpose::kNo, kYes = Transpose::kYes;
  return {problem(64, 64, 64, kNo, 0),       problem(256, 256, 256, kNo, 0),
          problem(1, 4096, 4096, kYes, 0),   problem(512, 512, 512, kNo, 0),
          problem(512, 512, 512, kNo, 1),    problem(8, 4096, 4096, kYes, 0),
          problem(2048, 64, 2048, kNo, 0),   problem(128, 4096, 1024, kYes, 0),
          problem(1024, 1024, 1024, kNo, 0), problem(1001, 1001, 1001, kNo, 0),
          problem(16, 4096, 12288, kYes, 0)};
}

const Problem kOfThreads = problem(512, 512, 512, Transpose::kNo, 0);

/// Copy of the database without the calibration of imports.
class StagingDatabase {
 public:
  explicit StagingDatabase(const std::filesystem::path& tuned)
      : folder_(std::filesystem::temp_directory_path() /
                fmt::format("rooftile-bench-transfer-{:.0f}", now_ns())) {
    std::filesystem::create_directories(folder_);
    for (const char* suffix : {"", "-wal"})
      if (std::filesystem::exists(tuned.string() + suffix))
        std::filesystem::copy_file(tuned.string() + suffix, file().string() + suffix);
    Store store(file());
    for (const DeviceRecord& device : store.devices()) {
      std::vector<Figure> figures = store.latest_calibration(device.id);
      if (figures.empty()) continue;
      std::erase_if(figures, [](const Figure& f) { return f.name.starts_with("device.import"); });
      store.add_calibration(device.id, figures);
    }
  }
  ~StagingDatabase() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::filesystem::path file() const { return folder_ / "staging.db"; }

 private:
  std::filesystem::path folder_;
};

std::string with_spread(const std::vector<double>& sample_ns) {
  return fmt::format("{} +- {:.0f} %", time_text(median(sample_ns)),
                     100 * median_absolute_deviation(sample_ns) / median(sample_ns));
}

class Table {
 public:
  explicit Table(const std::string& csv)
      : file_(csv,
              "part,what,size,wall_ns,wall_low_ns,wall_high_ns,rounds,device_ns,predicted_ns,"
              "detail,failure") {}

  void add(const std::vector<FloorRow>& rows) {
    for (const FloorRow& row : rows) add(row);
  }
  void add(const FloorRow& row) {
    fmt::print("{:<10} {:<32} {:>11}  ", row.part, row.what, row.size);
    std::string figures(5, ',');
    if (!row.failure.empty()) {
      fmt::print("{}\n", row.failure);
    } else {
      const Summary wall = summarize(row.wall_ns);
      fmt::print("{:<16}", with_spread(row.wall_ns));
      std::string device;
      if (!row.device_ns.empty()) {
        device = fmt::format("{:.0f}", median(row.device_ns));
        fmt::print("  device {}", time_text(median(row.device_ns)));
      }
      if (row.predicted_ns > 0) fmt::print("  predicted {}", time_text(row.predicted_ns));
      fmt::print("{}{}\n", row.detail.empty() ? "" : "  ", row.detail);
      figures = fmt::format("{:.0f},{:.0f},{:.0f},{},{},{}", wall.median_ns, wall.low_ns,
                            wall.high_ns, wall.count, device,
                            row.predicted_ns > 0 ? fmt::format("{:.0f}", row.predicted_ns) : "");
    }
    std::fflush(stdout);
    file_.add(fmt::format("{},{},{},{},{},{}", row.part, row.what, row.size, figures,
                          quoted(row.detail), quoted(row.failure)));
  }

 private:
  CsvFile file_;
};

/// "submit 17.0 us, in 1.20 ms (staged, copied, none), kernel 80.1 us, out 300 us (staged)"
std::string parts_of(const Decision& decision) {
  const TransferPaths& paths = decision.transfer_paths;
  std::string text = fmt::format(
      "submit {}, in {} ({}, {}, {}), kernel {}, out {} ({})", time_text(decision.submit_ns),
      time_text(decision.upload_ns), name(paths.a), name(paths.b), name(paths.c_in),
      time_text(decision.kernel_ns), time_text(decision.download_ns), name(paths.c_out));
  if (decision.overlapped_ns > 0)
    text += fmt::format(", overlapped {}", time_text(decision.overlapped_ns));
  return text;
}

struct Contestant {
  FloorRow row;
  Context* context;
  TierChoice choice;
};

void add_calls(Table& table, const Options& options, const std::vector<Problem>& problems) {
  const StagingDatabase without(options.database);
  Context usual({.database = options.database, .log_untuned = LogUntuned::kNo});
  Context staging({.database = without.file(), .log_untuned = LogUntuned::kNo});
  if (usual.device_name().empty())
    fail(ErrorCode::kDatabase, "no tuned device: {}; run `rooftile tune`", usual.note());
  std::vector<double> over_predicted;
  Random random(1);
  double last_ns = 0;
  for (const Problem& p : problems) {
    if (last_ns == 0)
      last_ns = now_ns() + options.seconds * 1e9;
    else if (now_ns() > last_ns) {
      table.add({.part = "calls", .what = to_string(p), .failure = "left out: --seconds are over"});
      continue;
    }
    const std::vector<char> a = random_operand(DataType::kF32, span_a(p), random),
                            b = random_operand(DataType::kF32, span_b(p), random);
    std::vector<char> c = random_operand(DataType::kF32, span_c(p), random);
    const Decision with = usual.decide(p), other = staging.decide(p);
    const auto contestant = [&](const std::string& what, Context& context, TierChoice choice,
                                double predicted_ns, const std::string& detail) {
      return Contestant{{.part = "calls",
                         .what = to_string(p) + (p.beta != 0 ? " beta 1 " : " ") + what,
                         .size = static_cast<std::uint64_t>(flops(p) / 2),
                         .predicted_ns = std::isfinite(predicted_ns) ? predicted_ns : 0,
                         .detail = detail},
                        &context,
                        choice};
    };
    std::array contestants = {
        contestant("staged", staging, TierChoice::kDevice, other.device_ns, parts_of(other)),
        contestant("imported", usual, TierChoice::kDevice, with.device_ns, parts_of(with)),
        contestant("host", usual, TierChoice::kHost, with.host_ns, ""),
        contestant("auto", usual, TierChoice::kAuto, std::min(with.device_ns, with.best_host_ns),
                   fmt::format("takes {}, without imports {}", name(with.tier), name(other.tier)))};
    double end = 0;
    for (int round = -2; round < options.rounds && (round < 1 || now_ns() < end); ++round) {
      if (round == 0) end = now_ns() + kLongestRoundsNs;
      for (Contestant& one : contestants) {
        if (!one.row.failure.empty()) continue;
        try {
          const double start = now_ns();
          one.context->gemm(
              {.problem = p, .a = a.data(), .b = b.data(), .c = c.data(), .tier = one.choice});
          const double ns = now_ns() - start;
          if (round >= 0) one.row.wall_ns.push_back(ns);
          // The first call may have waited for a compiler.
          if (round == -1 && ns > kLongestCallNs)
            fail(ErrorCode::kTimeout, "takes {}, too long to be repeated", time_text(ns));
        } catch (const Error& error) {
          one.row.failure = error.what();
        }
      }
    }
    for (const Contestant& one : contestants) {
      table.add(one.row);
      if (one.choice == TierChoice::kDevice && one.row.failure.empty() && one.row.predicted_ns > 0)
        over_predicted.push_back(median(one.row.wall_ns) / one.row.predicted_ns);
    }
  }
  if (over_predicted.empty()) return;
  fmt::print(
      "calls on the device over the sum of their predicted parts: geometric mean {:.2f}, "
      "{:.2f} to {:.2f}\n",
      geometric_mean(over_predicted), std::ranges::min(over_predicted),
      std::ranges::max(over_predicted));
}

struct OperandsOfThread {
  std::vector<char> a, b, c;
};

/// Elapsed time over the number of calls, with a thread for each of these operands that calls the
/// device.
double call_of_threads_ns(Context& context, const Problem& p,
                          std::span<OperandsOfThread> operands) {
  constexpr std::size_t kCalls = 16;
  std::vector<std::future<void>> calls;
  const double start = now_ns();
  for (OperandsOfThread& own : operands)
    calls.push_back(std::async(std::launch::async, [&] {
      for (std::size_t i = 0; i < kCalls / operands.size(); ++i)
        context.gemm({.problem = p,
                      .a = own.a.data(),
                      .b = own.b.data(),
                      .c = own.c.data(),
                      .tier = TierChoice::kDevice});
    }));
  for (std::future<void>& call : calls) call.get();
  return (now_ns() - start) / kCalls;
}

void add_threads(Table& table, const Options& options, const Problem& p) {
  const StagingDatabase without(options.database);
  Context context({.database = without.file(), .log_untuned = LogUntuned::kNo});
  std::vector<FloorRow> rows;
  constexpr std::array<std::size_t, 4> kThreads = {1, 2, 4, 8};
  std::vector<OperandsOfThread> operands;
  Random random(1);
  for (std::size_t t = 0; t < kThreads.back(); ++t)
    operands.push_back({random_operand(DataType::kF32, span_a(p), random),
                        random_operand(DataType::kF32, span_b(p), random),
                        random_operand(DataType::kF32, span_c(p), random)});
  for (const std::size_t threads : kThreads)
    rows.push_back({.part = "threads",
                    .what = fmt::format("{} staged by {} at once", to_string(p), threads),
                    .size = static_cast<std::uint64_t>(flops(p) / 2)});
  const double end = now_ns() + kThreads.size() * kLongestRoundsNs;
  for (int round = -1; round < options.rounds && (round < 1 || now_ns() < end); ++round)
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double ns = call_of_threads_ns(context, p, std::span(operands).first(kThreads[i]));
      if (round >= 0) rows[i].wall_ns.push_back(ns);
    }
  table.add(rows);
}

/// Not measured: 0, and nothing is predicted.
DeviceRates rates_of(const std::filesystem::path& database, const DeviceProfile& device) {
  if (!std::filesystem::exists(database)) return {};
  const Store store(database, OpenMode::kReadOnly);
  const auto row = store.find_device(device);
  return row ? calibration_from_figures(store.latest_calibration(*row)).device : DeviceRates();
}

void run(const Options& options, const std::vector<Problem>& problems) {
  const DeviceProfile device = wanted_devices().front();
  fmt::print("{} ({}), {} rounds: wall time with its spread; by the device's clock; predicted\n",
             device.name, device.driver_info, options.rounds);
  Table table(options.csv);
  const DeviceRates rates = rates_of(options.database, device);
  FullClocks clocks(Device::open(device));
  if (options.parts.contains("dispatches"))
    table.add(dispatch_floor(clocks, rates, options.rounds));
  if (options.parts.contains("copies")) table.add(copy_floor(clocks, rates, options.rounds));
  if (options.parts.contains("calls")) add_calls(table, options, problems);
  if (options.parts.contains("threads"))
    add_threads(table, options, problems.size() == 1 ? problems.front() : kOfThreads);
}

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  app.footer(
      "Empty dispatches are timed, copies by size and path, whole calls, staged and imported,\n"
      "beside the sum of their predicted parts and the host's, and calls of several threads.\n"
      "Example: rooftile-bench transfer --rounds 31 --csv transfer.csv\n"
      "         rooftile-bench transfer --parts dispatches,copies    (needs no tuned device)");
  Options options;
  WantedProblems wanted;
  app.add_option("--db", options.database, "Tuning database (default: the user's)");
  app.add_option("--parts", options.parts, "dispatches, copies, calls, threads (all)")
      ->delimiter(',')
      ->check(CLI::IsMember({"dispatches", "copies", "calls", "threads"}));
  app.add_option("--rounds", options.rounds, "Samples of each (15)")->check(CLI::Range(1, 1001));
  app.add_option("--seconds", options.seconds,
                 "Problems whose calls would begin after this time are left out (60)")
      ->check(CLI::PositiveNumber);
  wanted.add_sizes(app, "One problem, in place of the usual eleven");
  app.add_option("--csv", options.csv, "Write the table here as well");
  app.parse(argc, argv);
  if (options.database.empty()) options.database = default_database_path();
  const std::optional<Problem> one = wanted.one();
  run(options, one ? std::vector<Problem>{*one} : usual_problems());
}

}  // namespace rooftile::transfer_bench
