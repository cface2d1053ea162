#include "web/exchange/winners.h"

namespace rooftile::web {
namespace {

constexpr std::size_t kMost = 200;

nlohmann::json to_json(const Problem& p) {
  return {{"m", p.m},
          {"n", p.n},
          {"k", p.k},
          {"trans_a", p.trans_a == Transpose::kYes},
          {"trans_b", p.trans_b == Transpose::kYes},
          {"batch", p.batch},
          {"types", to_string(p.types)}};
}

}  // namespace

nlohmann::json known_kernels(const Store* store, const std::string& version) {
  nlohmann::json known = nlohmann::json::array();
  if (store != nullptr)
    for (const DeviceRecord& device : store->devices())
      for (const RankedKernel& winner : store->winners(device.id)) {
        const TunedKernel& kernel = winner.kernel;
        const Problem& p = kernel.problem;
        if (kernel.rank != 0 || any(p.epilogue) || is_grouped(p) || known.size() >= kMost) continue;
        known.push_back(
            {{"problem", to_json(p)}, {"variant", to_string(kernel.candidate.variant)}});
      }
  return {{"version", version}, {"known", std::move(known)}};
}

}  // namespace rooftile::web
