#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/shipped.h"
#include "core/count_text.h"
#include "core/device_text.h"
#include "core/error.h"
#include "db/store.h"
#include "generator/version.h"
#include "runtime/device/device.h"
#include "runtime/host/host_blas.h"

namespace rooftile {
namespace {

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      return line.substr(std::min(line.size(), line.find(':') + 2));
  return "unknown CPU";
}

std::size_t tuned_kernels(const std::filesystem::path& database, const DeviceProfile& device) {
  if (!database_exists(database)) return 0;
  const Store store(database, OpenMode::kReadOnly);
  const auto row = store.find_device(device);
  return row ? store.tuned_kernels(*row, kGeneratorVersion).size() : 0;
}

std::string blas_text() {
  try {
    const HostBlas& blas = HostBlas::get();
    return fmt::format("{}, kernels for {}, {}", blas.library(), blas.core_name(),
                       count_text(blas.threads(), "thread"));
  } catch (const Error& error) {
    return error.what();
  }
}

nlohmann::json json_of(const MatrixShape& x) {
  return {{"m", x.m}, {"n", x.n}, {"k", x.k}, {"operand", name(x.operand)}, {"sum", name(x.sum)}};
}
nlohmann::json json_of(const WorkgroupMatrix& x) {
  return {{"unit", json_of(x.unit)}, {"invocations", x.invocations}};
}
template <typename Entry>
nlohmann::json json_of(const std::vector<Entry>& entries) {
  nlohmann::json list = nlohmann::json::array();
  for (const Entry& x : entries) list.push_back(json_of(x));
  return list;
}

nlohmann::json json_of(const DeviceProfile& d, std::size_t tuned, std::size_t shipped) {
  const DeviceLimits& l = d.limits;
  return {{"name", d.name},
          {"uuid", d.device_uuid},
          {"kind", name(d.kind)},
          {"vendor_id", d.vendor_id},
          {"device_id", d.device_id},
          {"driver", d.driver_name},
          {"driver_info", d.driver_info},
          {"driver_version", d.driver_version},
          {"memory_bytes", d.device_memory_bytes},
          {"unified_memory", d.unified_memory},
          {"tuned_kernels", tuned},
          {"shipped_kernels", shipped},
          {"limits",
           {{"subgroup_size", l.subgroup_size},
            {"min_subgroup_size", l.min_subgroup_size},
            {"max_subgroup_size", l.max_subgroup_size},
            {"subgroup_size_control", l.subgroup_size_control},
            {"shared_memory_bytes", l.shared_memory_bytes},
            {"max_workgroup_invocations", l.max_workgroup_invocations},
            {"max_storage_buffer_range_bytes", l.max_storage_buffer_range_bytes},
            {"max_texel_buffer_elements", l.max_texel_buffer_elements},
            {"max_memory_allocation_bytes", l.max_memory_allocation_bytes},
            {"float16_arithmetic", l.float16_arithmetic},
            {"float32_atomic_add", l.float32_atomic_add},
            {"int8_arithmetic", l.int8_arithmetic},
            {"float64_arithmetic", l.float64_arithmetic},
            {"matrix_shapes", json_of(l.matrix_shapes)},
            {"matrix_granularities", json_of(l.matrix_granularities)},
            {"max_matrix_dimension", l.max_matrix_dimension},
            {"workgroup_matrices", json_of(l.workgroup_matrices)},
            {"workgroup_matrix_shared_bytes", l.workgroup_matrix_shared_bytes},
            {"integer_dot_product", l.integer_dot_product},
            {"integer_dot_product_accelerated", l.integer_dot_product_accelerated},
            {"timestamp_period_ns", l.timestamp_period_ns},
            {"timestamp_valid_bits", l.timestamp_valid_bits}}}};
}

/// "f16 16x16x16 to f32, i8 16x16x32 to i32", or "none".
std::string matrix_text(const DeviceLimits& l) {
  std::string text;
  const auto add = [&](const MatrixShape& x, std::string_view multiples) {
    text += fmt::format("{}{} {}x{}x{}{} to {}", text.empty() ? "" : ", ", name(x.operand), x.m,
                        x.n, x.k, multiples, name(x.sum));
  };
  for (const MatrixShape& x : l.matrix_shapes) add(x, "");
  for (const MatrixShape& x : l.matrix_granularities) add(x, " and multiples");
  for (const WorkgroupMatrix& x : l.workgroup_matrices)
    add(x.unit, fmt::format(" and multiples for workgroups of {}", x.invocations));
  return text.empty() ? "none" : text;
}

/// Features that decide which types have kernels of their own.
std::string features_text(const DeviceLimits& l) {
  return fmt::format("f16 sums: {}, int8 dot products: {}, float atomics: {}\n  matrix units: {}",
                     l.float16_arithmetic ? "yes" : "no",
                     !l.integer_dot_product              ? "no"
                     : l.integer_dot_product_accelerated ? "accelerated"
                                                         : "yes, not accelerated",
                     l.float32_atomic_add ? "yes" : "no", matrix_text(l));
}

int devices(const Globals& globals, bool json) {
  const Enumeration found = enumerate_devices();
  nlohmann::json list = nlohmann::json::array();
  const bool any = globals.wanted_device().empty();
  for (const DeviceProfile& d : any ? found.devices : selected_devices(globals)) {
    const std::size_t tuned = tuned_kernels(globals.database(), d);
    const std::vector<ShippedDevice> shipped = shipped_devices(shipped_folder(), d);
    if (json) {
      std::size_t kernels = 0;
      for (const ShippedDevice& one : shipped) kernels += one.same_driver ? one.kernels : 0;
      list.push_back(json_of(d, tuned, kernels));
      continue;
    }
    fmt::print("{}\n  {}, {}, {:.1f} GiB{}, subgroup {}\n  uuid {}\n  {}\n  {}\n", d.name,
               name(d.kind), driver_of(d), static_cast<double>(d.device_memory_bytes) / (1 << 30),
               d.unified_memory ? " unified" : "", d.limits.subgroup_size, d.device_uuid,
               features_text(d.limits),
               tuned > 0 ? "tuned: " + count_text(tuned, "ranked kernel")
               : shipped.empty()
                   ? "not tuned: run `rooftile tune`"
                   : "not tuned: run `rooftile tune`, which begins with " + shipped_text(shipped));
  }
  if (json) {
    const nlohmann::json all = {{"devices", list},
                                {"note", found.note},
                                {"host",
                                 {{"cpu", cpu_name()},
                                  {"cores", std::thread::hardware_concurrency()},
                                  {"blas", blas_text()}}}};
    print_json(all);
    return kDone;
  }
  if (found.devices.empty()) fmt::print("no Vulkan device\n");
  fmt::print("host: {}, {}, BLAS {}\n", cpu_name(),
             count_text(std::thread::hardware_concurrency(), "core"), blas_text());
  if (!found.note.empty()) fmt::print(stderr, "rooftile: {}\n", found.note);
  print_host_advice();
  return kDone;
}

}  // namespace

std::vector<DeviceProfile> selected_devices(const Globals& globals) {
  const Enumeration found = enumerate_devices();
  if (!found.note.empty()) fmt::print(stderr, "rooftile: {}\n", found.note);
  std::vector<DeviceProfile> devices;
  for (const DeviceProfile& device : found.devices)
    if (globals.selects(device)) devices.push_back(device);
  if (devices.empty())
    fail(ErrorCode::kDevice, "no Vulkan device{}",
         globals.wanted_device().empty()
             ? " on this machine: install a driver (mesa-vulkan-drivers has a software one)"
             : globals.matching() +
                   "; `rooftile devices` without --device and ROOFTILE_DEVICE lists them");
  return devices;
}

void add_devices(CLI::App& app, const Globals& globals, Action& action) {
  CLI::App* command = app.add_subcommand("devices", "List the Vulkan devices and the host");
  command->footer("Example: rooftile devices --json");
  static bool json = false;
  add_json(*command, json);
  command->callback([&] { action = [&] { return devices(globals, json); }; });
}

}  // namespace rooftile
