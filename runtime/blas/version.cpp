#include "runtime/blas/arguments.h"
#include "runtime/host_library.h"

// By its name (kDropInMark) the runtime and the drop-in know the drop-in.
ROOFTILE_BLAS_API const char rooftile_blas_version[];
const char rooftile_blas_version[] = ROOFTILE_VERSION;
