// A tuning run without a device: a worker that makes times up at once and certifies everything, and
// the figures that a calibration would have stored. Shared by the programs that let runs fail.
#pragma once

#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "core/numbers/random.h"
#include "db/store.h"
#include "tests/tuner/made_up_calibration.h"
#include "tuner/tune.h"
#include "tuner/worker/worker_protocol.h"

namespace rooftile {

/// Serves requests from standard input until it closes; returns the exit code. Calls on_request()
/// before each answer.
inline int made_up_worker(const std::function<void()>& on_request) {
  for (std::string line; std::getline(std::cin, line);) {
    on_request();
    const Json request = Json::parse(line).value();
    const std::string operation = request.at("operation");
    Json reply = {{"name", "made up"}};
    if (operation == "compile") reply = {{"compile_ns", 1e6}};
    if (operation == "certify") reply = to_json(Certificate{.passed = true, .cases = 1});
    if (operation == "time" || operation == "time reference") {
      const TimeRequest asked = time_request_from_json(request.at("request"));
      Random random(std::hash<std::string>()(to_string(asked.variant)));
      TimeReply times{.hash = "made up", .compile_ns = 1e6, .estimate_ns = 1e4};
      const double usual_ns = 1e4 * (2 + static_cast<double>(random.symmetric()));
      for (int i = 0; i < asked.samples; ++i) times.kernel_ns.push_back(usual_ns + i);
      reply = to_json(times);
    }
    std::cout << reply.dump() << std::endl;
  }
  return 0;
}

/// A calibration takes long and is stored atomically, so tests write a made-up one.
inline void store_calibration(Store& store, const DeviceProfile& device) {
  store.add_calibration(store.device_id(device), to_figures(made_up_calibration()));
}

}  // namespace rooftile
