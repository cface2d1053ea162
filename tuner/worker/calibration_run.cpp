#include "tuner/worker/calibration_run.h"

#include <algorithm>

#include "core/clock.h"
#include "core/error.h"
#include "runtime/model/gpu/gpu_generation.h"
#include "tuner/calibrate/calibrate.h"
#include "tuner/worker/worker_process.h"

namespace rooftile {
namespace {

constexpr double kCalibrationDeadlineS = 120;  // Beyond the time that it is given.
constexpr double kDeviceShare = kDeviceCalibrationS / kCalibrationS;
// Least share of the time for the host, however little the device has left.
constexpr double kLeastHostShare = 0.3;
// Memory for each compiler: of the host, and of a GPU, where operands need some, too.
constexpr double kHostBytesEach = 1.0 * (1 << 30), kDeviceBytesEach = 1.0 * (1 << 30);
constexpr std::size_t kMostCompilers = 32;
constexpr double kMatrixDeadlineS = 30;  // One shape: compiling twice, and a few ms.

/// Measures the best shape of each pair of types. A shape that fails, crashes or hangs costs only
/// its own figure, just as its kernels later cost the tuner only themselves.
std::vector<Figure> calibrate_matrix_units(const DeviceProfile& device, double compute_units,
                                           WorkerProcess& worker,
                                           const std::function<void(const std::string&)>& message,
                                           const std::atomic<bool>& stop) {
  std::vector<Figure> best;
  for (std::size_t i = 0; i < device.limits.matrix_shapes.size() && !stop.load(); ++i) {
    const MatrixShape& shape = device.limits.matrix_shapes[i];
    const WorkerAnswer answer = worker.ask(
        {{"operation", "calibrate matrix unit"}, {"shape", i}, {"compute_units", compute_units}},
        kMatrixDeadlineS, stop);
    if (answer.fate == WorkerFate::kInterrupted) break;
    const auto leave_out = [&](const std::string& why) {
      if (message)
        message(fmt::format("matrix unit {}x{}x{} of {} is not calibrated: {}", shape.m, shape.n,
                            shape.k, name(shape.operand), why));
    };
    if (answer.fate != WorkerFate::kAnswered) {
      leave_out(answer.message);
      continue;
    }
    std::vector<Figure> figures;
    try {
      figures = figures_from_json(answer.reply.at("figures"));
    } catch (const std::exception& error) {
      leave_out(std::string("the worker's answer cannot be read: ") + error.what());
      continue;
    }
    for (Figure& figure : figures) {
      const auto same = std::ranges::find(best, figure.name, &Figure::name);
      if (same == best.end())
        best.push_back(std::move(figure));
      else if (figure.value > same->value)
        *same = std::move(figure);
    }
  }
  return best;
}

}  // namespace

WorkerProcess device_worker(const std::filesystem::path& program, const DeviceProfile& device,
                            std::optional<double> memory_limit_bytes) {
  return WorkerProcess(program.empty() ? "/proc/self/exe" : program,
                       {{"operation", "open"}, {"device_uuid", device.device_uuid}},
                       memory_limit_bytes.value_or(worker_memory_limit_bytes()));
}

std::vector<std::unique_ptr<WorkerProcess>> compile_workers(const std::filesystem::path& program,
                                                            const DeviceProfile& device,
                                                            std::size_t processors,
                                                            std::size_t batch) {
  const double memory_bytes = worker_memory_limit_bytes();
  const auto fitting = [](double bytes, double each) {
    return static_cast<std::size_t>(bytes / each);
  };
  // The worker that measures on a GPU has a processor of its own.
  std::size_t count =
      device.kind == DeviceKind::kSoftware
          ? std::min(processors, batch)
          : std::min({processors - 1, kMostCompilers,
                      fitting(static_cast<double>(device.device_memory_bytes), kDeviceBytesEach)});
  count = processors < 2 ? 0 : std::min(count, fitting(memory_bytes, kHostBytesEach));
  std::vector<std::unique_ptr<WorkerProcess>> workers;
  for (std::size_t i = 0; i < count; ++i)
    workers.emplace_back(new WorkerProcess(
        device_worker(program, device, memory_bytes / static_cast<double>(count))));
  return workers;
}

std::optional<CalibrationRun> calibrate(Store& store, const DeviceProfile& device,
                                        WorkerProcess& worker,
                                        const std::function<void(const std::string&)>& message,
                                        const std::atomic<bool>& stop, double seconds) {
  const double start_s = now_s();
  const RowId row = store.device_id(device);
  CalibrationRun run{.figures = {}, .before = store.latest_calibration(row, Provenance::kOwn)};
  const WorkerAnswer answer =
      worker.ask({{"operation", "calibrate"}, {"seconds", kDeviceShare * seconds}},
                 kCalibrationDeadlineS + seconds, stop);
  if (answer.fate == WorkerFate::kInterrupted) return std::nullopt;
  if (answer.fate != WorkerFate::kAnswered)
    fail(ErrorCode::kDevice, "calibration failed: {}; nothing was stored{}", answer.message,
         answer.fate == WorkerFate::kTimedOut
             ? "; run `rooftile calibrate` when no other program uses the processors"
             : "");
  try {
    run.figures = figures_from_json(answer.reply.at("figures"));
    run.parts = parts_from_json(answer.reply.at("parts"));
  } catch (const std::exception& error) {
    fail(ErrorCode::kDevice,
         "calibration failed: the worker's answer cannot be read: {}; nothing "
         "was stored",
         error.what());
  }
  const double units = calibration_from_figures(run.figures).device.compute_units;
  const double matrix_s = now_s();
  for (Figure& figure : calibrate_matrix_units(device, units, worker, message, stop))
    run.figures.push_back(std::move(figure));
  if (!device.limits.matrix_shapes.empty())
    run.parts.push_back({"matrix units", now_s() - matrix_s});
  const Calibrated host =
      calibrate_host(stop, std::max(kLeastHostShare * seconds, seconds - (now_s() - start_s)));
  if (stop.load()) return std::nullopt;
  if (host.processors_busy)
    message(
        "other programs used the processors, so BLAS on all threads was measured too slow; it "
        "counts as at least as fast as on one thread until `rooftile calibrate` runs on a quiet "
        "machine");
  run.figures.insert(run.figures.end(), host.figures.begin(), host.figures.end());
  run.parts.insert(run.parts.end(), host.parts.begin(), host.parts.end());
  store.add_calibration(row, run.figures);
  run.elapsed_s = now_s() - start_s;
  return run;
}

std::optional<CalibrationRun> calibrate(Store& store, const DeviceProfile& device,
                                        const std::function<void(const std::string&)>& message,
                                        const std::atomic<bool>& stop, double seconds) {
  WorkerProcess worker = device_worker({}, device);
  return calibrate(store, device, worker, message, stop, seconds);
}

std::optional<Calibration> known_calibration(const Store& store, const DeviceProfile& device) {
  const std::optional<RowId> row = store.find_device(device);
  if (!row) return std::nullopt;
  Calibration known = calibration_from_figures(store.latest_calibration(*row, Provenance::kOwn));
  known.device.gpu = gpu_generation(device);
  const bool complete = is_calibrated(known.device) && known.device.synchronised_fma_gflops > 0 &&
                        known.device.fetch_ns > 0 && is_calibrated(known.host) &&
                        is_calibrated(known.host1) && !known.host.gemv.empty();
  return complete ? std::optional(known) : std::nullopt;
}

}  // namespace rooftile
