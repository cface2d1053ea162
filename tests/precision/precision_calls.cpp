// Usage: precision_calls [--calls N] [--seed S] [--routine NAME] LIBRARY
//
// Makes N random calls (default 100) of every routine whose precision is documented, those of BLAS
// from LIBRARY, and compares each element with a reference in quadruple precision. The environment
// determines what is tested (ROOFTILE_PRECISION, ROOFTILE_TIER and the others). The program prints
// one line of JSON for each routine; tests/precision/test_precision.py checks these lines.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "tests/precision/calls.h"

namespace rooftile {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + '"';
}

void print(const std::string& name, const Tally& t) {
  fmt::print(
      R"({{"routine": {}, "calls": {}, "refused": {}, "elements": {}, "correct": {}, "within": {}, )"
      R"("beyond": {}, "worst": {}, "why": {}}})"
      "\n",
      quoted(name), t.calls, t.refused, t.elements, t.correct, t.within, t.beyond, t.worst,
      quoted(t.why));
  std::fflush(stdout);
}

}  // namespace
}  // namespace rooftile

int main(int argc, char** argv) try {
  using namespace rooftile;
  CLI::App app{"Compares random calls with a reference in quadruple precision"};
  int calls = 100;
  std::uint64_t seed = 1;
  std::string library, only;
  app.add_option("--calls", calls, "Calls of each routine")->check(CLI::PositiveNumber);
  app.add_option("--seed", seed, "Of sizes, arguments and operands");
  app.add_option("--routine", only, "This one alone");
  app.add_option("library", library, "A BLAS: the drop-in")->required();
  CLI11_PARSE(app, argc, argv);
  std::vector<Routine> routines = abi_routines();
  for (Routine& routine : blas_routines(library)) routines.push_back(std::move(routine));
  bool found = false;
  for (const Routine& routine : routines) {
    if (!only.empty() && routine.name != only) continue;
    found = true;
    Random random(seed);
    Tally tally;
    for (int i = 0; i < calls; ++i) routine.call(random, tally);
    print(routine.name, tally);
  }
  if (!found) throw std::runtime_error("no routine " + only);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "precision_calls: %s\n", error.what());
  return 1;
}
