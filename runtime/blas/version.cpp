#include "runtime/blas/arguments.h"
#include "runtime/host/host_library.h"

// The runtime and the drop-in recognise the drop-in by this symbol (kDropInMark).
ROOFTILE_BLAS_API const char rooftile_blas_version[];
const char rooftile_blas_version[] = ROOFTILE_VERSION;
