// `rooftile db export-space`.
#pragma once

#include "cli/command.h"

namespace rooftile {

void add_export_space(CLI::App& db, const Globals& globals, Action& action);

}  // namespace rooftile
