// The one file that holds the kernels; others include the header for its declarations.
#define ROOFTILE_EMBED_IMPLEMENTATION
#include <gemm_kernels.h>
