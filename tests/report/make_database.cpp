// make_database FILE [--name TEXT] [--samples N] ...: writes the database of a simulated machine.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "tests/report/simulated_machine.h"

int main(int argc, char** argv) {
  rooftile::Simulation simulation;
  std::string file;
  CLI::App app("Writes, or adds to, the database of a machine that is not there");
  app.add_option("file", file)->required();
  app.add_option("--name", simulation.name, "Of the device");
  app.add_option("--uuid", simulation.uuid);
  app.add_option("--driver", simulation.driver_version);
  app.add_option("--speed", simulation.speed);
  app.add_option("--problems", simulation.problems, "Tuned ones");
  app.add_option("--samples", simulation.samples, "Of each");
  app.add_option("--calibrations", simulation.calibrations);
  app.add_option("--counters", simulation.counters, "Of the driver, for each winner");
  bool empty = false;
  app.add_flag("--empty", empty, "Without any device");
  CLI11_PARSE(app, argc, argv);
  try {
    rooftile::Store store(file);
    if (!empty) rooftile::simulate(store, simulation);
  } catch (const std::exception& error) {
    fmt::print(stderr, "make_database: {}\n", error.what());
    return 1;
  }
  return 0;
}
