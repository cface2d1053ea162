// Environment variables with a fixed set of values. One table lists them.
#pragma once

#include <string>

namespace rooftile {

/// The variable's value; "" when it is not set, and always in a set-user-ID program, whose caller
/// would otherwise name libraries to load and files to write with rights that are not its own.
std::string environment(const char* variable);

/// "1" or "on" is true, "0" or "off" false; `otherwise` when the variable is empty or not set.
/// Throws kInvalidArgument for any other value.
bool environment_switch(const char* variable, bool otherwise);

/// How many ranks the MPI program has that this process is a rank of, as Open MPI, Hydra (MPICH,
/// Intel MPI) and Slurm's srun tell it; 1 where it is none.
int mpi_ranks();

/// Throws kInvalidArgument, naming the variable and its values, when ROOFTILE_TIER,
/// ROOFTILE_DEVICES, ROOFTILE_PRECISION, ROOFTILE_DETERMINISTIC, ROOFTILE_MEASURE_CALLS,
/// ROOFTILE_LOG_UNTUNED or ROOFTILE_VALIDATION has an unknown one. An unknown ROOFTILE_LOG stops no
/// program: it is reported once on stderr. Called by every context and by every command of the
/// `rooftile` program.
void check_environment();

}  // namespace rooftile
