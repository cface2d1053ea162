// Measures the gain of importing host memory. Whole calls run in turn: on the device with staged
// operands, on the device with the predicted transfer path, on the host's BLAS, and on the
// dispatcher's choice.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/numbers/random.h"
#include "core/numbers/statistics.h"
#include "core/time_text.h"
#include "db/store.h"
#include "runtime/dispatch/context.h"
#include "runtime/verify/random_operand.h"

namespace rooftile {
namespace {

struct Options {
  std::string database;
  int rounds = 15;
};

Problem problem(std::int64_t m, std::int64_t n, std::int64_t k, Transpose trans_b, float beta) {
  Problem p = packed_problem(m, n, k, Transpose::kNo, trans_b);
  p.beta = beta;
  return p;
}

/// Squares, transformer weights with few rows, row lengths that are no multiple of the vector
/// width, and a GEMM that is computed in slices where buffers are small.
std::vector<Problem> problems() {
  constexpr auto kNo = Transpose::kNo, kYes = Transpose::kYes;
  return {problem(64, 64, 64, kNo, 0),       problem(256, 256, 256, kNo, 0),
          problem(512, 512, 512, kNo, 0),    problem(512, 512, 512, kNo, 1),
          problem(1024, 1024, 1024, kNo, 0), problem(1001, 1001, 1001, kNo, 0),
          problem(1, 4096, 4096, kYes, 0),   problem(8, 4096, 4096, kYes, 0),
          problem(128, 4096, 1024, kYes, 0), problem(2048, 64, 2048, kNo, 0),
          problem(16, 4096, 12288, kYes, 0)};
}

/// Copy of the database without the calibration of imports.
class StagingDatabase {
 public:
  explicit StagingDatabase(const std::filesystem::path& tuned)
      : folder_(std::filesystem::temp_directory_path() /
                fmt::format("bench_transfer-{:.0f}", now_ns())) {
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

struct Contestant {
  std::string_view what;
  Context* context;
  TierChoice choice;
  std::vector<double> sample_ns = {};
};

std::string with_spread(const std::vector<double>& sample_ns) {
  return fmt::format("{} +- {:.0f} %", time_text(median(sample_ns)),
                     100 * median_absolute_deviation(sample_ns) / median(sample_ns));
}

void run(const Options& options) {
  const std::filesystem::path database =
      options.database.empty() ? default_database_path() : std::filesystem::path(options.database);
  const StagingDatabase without(database);
  Context usual({.database = database, .log_untuned = LogUntuned::kNo});
  Context staging({.database = without.file(), .log_untuned = LogUntuned::kNo});
  if (usual.device_name().empty())
    fail(ErrorCode::kDatabase, "no tuned device: {}; run `rooftile tune`", usual.note());
  fmt::print("{}, {} rounds, median and spread; transfer paths of a, b, c in and out\n",
             usual.device_name(), options.rounds);
  Random random(1);
  for (const Problem& p : problems()) {
    const std::vector<char> a = random_operand(DataType::kF32, span_a(p), random),
                            b = random_operand(DataType::kF32, span_b(p), random);
    std::vector<char> c = random_operand(DataType::kF32, span_c(p), random);
    std::array contestants = {Contestant{"staged", &staging, TierChoice::kDevice},
                              Contestant{"imported", &usual, TierChoice::kDevice},
                              Contestant{"host", &usual, TierChoice::kHost},
                              Contestant{"auto", &usual, TierChoice::kAuto}};
    for (int round = -2; round < options.rounds; ++round)
      for (Contestant& contestant : contestants) {
        const double start = now_ns();
        contestant.context->gemm(
            {.problem = p, .a = a.data(), .b = b.data(), .c = c.data(), .tier = contestant.choice});
        if (round >= 0) contestant.sample_ns.push_back(now_ns() - start);
      }
    const Decision with = usual.decide(p), other = staging.decide(p);
    fmt::print("{}{}: {} {} {} {}", to_string(p), p.beta != 0 ? " beta 1" : "",
               name(with.transfer_paths.a), name(with.transfer_paths.b),
               name(with.transfer_paths.c_in), name(with.transfer_paths.c_out));
    for (const Contestant& contestant : contestants)
      fmt::print("; {} {}", contestant.what, with_spread(contestant.sample_ns));
    fmt::print("; predicted staged {}, imported {}, host {}; takes {}, without imports {}\n",
               time_text(other.device_ns), time_text(with.device_ns), time_text(with.best_host_ns),
               name(with.tier), name(other.tier));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace rooftile

int main(int argc, char** argv) {
  CLI::App app(
      "Whole calls with operands staged and imported, beside the host's.\n"
      "Example: bench_transfer --rounds 31");
  rooftile::Options options;
  app.add_option("--db", options.database, "Tuning database (default: the user's)");
  app.add_option("--rounds", options.rounds, "Samples of each (15)")->check(CLI::Range(1, 1001));
  CLI11_PARSE(app, argc, argv);
  try {
    rooftile::run(options);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_transfer: {}\n", error.what());
    return 1;
  }
}
