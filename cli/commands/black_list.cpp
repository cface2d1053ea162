#include <fmt/format.h>

#include "cli/command.h"
#include "cli/json_output.h"
#include "db/store.h"

namespace rooftile {
namespace {

int print_as_json(const Globals& globals) {
  const Store store(globals.database(), OpenMode::kReadOnly);
  nlohmann::ordered_json devices = nlohmann::ordered_json::array();
  for (const DeviceRecord& device : selected_records(globals, store)) {
    nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
    for (const BlackListRecord& entry : store.black_listed(device.id)) {
      const auto candidate = store.candidate(entry.candidate);
      nlohmann::ordered_json& kernel = kernels.emplace_back();
      kernel["at"] = entry.at;
      kernel["reason"] = entry.reason;
      if (candidate) kernel["variant"] = to_string(candidate->variant);
      if (candidate) kernel["signature"] = candidate->signature;
    }
    nlohmann::ordered_json& of_device = devices.emplace_back(device_fields(device.profile));
    of_device["black_listed"] = std::move(kernels);
  }
  print_json({{"database", store.path().string()}, {"devices", devices}});
  return kDone;
}

int print(const Globals& globals) {
  const Store store(globals.database(), OpenMode::kReadOnly);
  for (const DeviceRecord& device : selected_records(globals, store)) {
    const std::vector<BlackListRecord> list = store.black_listed(device.id);
    fmt::print("{} ({}): {} black-listed\n", device.profile.name, device.profile.driver_info,
               list.size());
    for (const BlackListRecord& entry : list) {
      const auto candidate = store.candidate(entry.candidate);
      fmt::print("  {}  {}  {}\n", entry.at, candidate ? short_name(candidate->variant) : "?",
                 entry.reason);
    }
  }
  return kDone;
}

int clear(const Globals& globals) {
  // A missing file has nothing to clear and must not be created.
  Store(globals.database(), OpenMode::kReadOnly);
  Store store(globals.database());
  for (const DeviceRecord& device : selected_records(globals, store)) {
    const std::size_t count = store.black_listed(device.id).size();
    store.clear_black_list(device.id);
    for (const JournalRecord& entry : store.dead_journal(device.id)) store.journal_end(entry.id);
    fmt::print("{} ({}): {} no longer black-listed\n", device.profile.name,
               device.profile.driver_info, count);
  }
  return kDone;
}

}  // namespace

void add_black_list(CLI::App& db, const Globals& globals, Action& action) {
  CLI::App* command =
      db.add_subcommand("black-list", "List the kernels that are blocked on a device, and why");
  command->footer("Example: rooftile db black-list --clear --device llvmpipe");
  static bool clears = false, json = false;
  CLI::Option* const clearing =
      command->add_flag("--clear", clears,
                        "Clear the list, so that the next tuning may try these kernels again; with "
                        "--device only for the matching devices");
  add_json(*command, json)->excludes(clearing);
  command->callback([&] {
    action = [&] {
      return clears ? clear(globals) : json ? print_as_json(globals) : print(globals);
    };
  });
}

}  // namespace rooftile
