// Computes C := A^T * B + 0.5 * C with rooftile.hpp on every tier of this machine, and prints the
// dispatch score. Exit code 0: all tiers agree, 1: a call failed or they differ.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <rooftile/rooftile.hpp>
#include <utility>
#include <vector>

namespace {

constexpr std::int64_t kM = 96, kN = 80, kK = 112;

std::vector<float> filled(std::int64_t elements, int period) {
  std::vector<float> x(static_cast<std::size_t>(elements));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(static_cast<int>(i) % period - period / 2) / 8;
  return x;
}

void print(const rooftile_decision& decision) {
  std::printf("predicted: device %.0f ns, host %.0f ns, host with one thread %.0f ns\n",
              decision.device_ns, decision.host_ns, decision.host1_ns);
  for (const rooftile_factor& factor : decision.factors)
    std::printf("  %-24s %10.4f\n", factor.name, factor.value);
  std::printf("  %-24s %10.4f\n", "score", decision.score);
  if (decision.veto[0] != '\0') std::printf("not on a device: %s\n", decision.veto);
}

int run() {
  rooftile::Session session;
  const std::vector<float> a = filled(kK * kM, 13), b = filled(kK * kN, 11);
  const std::vector<float> c_before = filled(kM * kN, 7);
  std::vector<float> c;
  rooftile_sgemm_args args = {};
  args.trans_a = ROOFTILE_TRANSPOSE;
  args.m = kM, args.n = kN, args.k = kK;
  args.alpha = 1, args.beta = 0.5f;
  args.a = a.data(), args.lda = kM;
  args.b = b.data(), args.ldb = kN;
  args.ldc = kN;
  print(session.explain(args));

  std::vector<float> first;
  for (const auto& [name, tier] :
       {std::pair("auto", ROOFTILE_TIER_AUTO), std::pair("host", ROOFTILE_TIER_HOST),
        std::pair("host64", ROOFTILE_TIER_HOST64), std::pair("device", ROOFTILE_TIER_DEVICE)}) {
    c = c_before;
    args.c = c.data();
    args.tier = tier;
    try {
      session.sgemm(args);
    } catch (const rooftile::StatusError& error) {
      // Auto always answers; a forced tier may be missing.
      if (tier == ROOFTILE_TIER_AUTO || c != c_before) throw;
      std::printf("%-7s %s\n", name, error.what());
      continue;
    }
    if (first.empty()) first = c;
    double worst = 0;
    for (std::size_t i = 0; i < c.size(); ++i)
      worst = std::fmax(worst, std::fabs(static_cast<double>(c[i]) - first[i]));
    std::printf("%-7s C[0][0] = %g, largest difference from auto %g\n", name,
                static_cast<double>(c[0]), worst);
    if (!(worst < 1e-3)) return 1;
  }
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const rooftile::StatusError& error) {
    std::fprintf(stderr, "rooftile: %s (status %d)\n", error.what(), error.status());
    return 1;
  }
}
