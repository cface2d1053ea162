// What the tests see of a header's internals, beside its functions.
#define ROOFTILE_EMBED_IMPLEMENTATION
#include <gemm_kernels.h>

static rooftile_embed_status fits(int kernel, const rooftile_embed_limits* limits,
                                  const rooftile_embed_problem* problem,
                                  const rooftile_embed_operands* operands, rte_call* call) {
  const rooftile_embed_status status = rte_bind(limits, problem, operands, call);
  return status != ROOFTILE_EMBED_OK ? status : rte_fits(&rte_kernels[kernel], limits, call);
}

int shim_fits(int kernel, const rooftile_embed_limits* limits,
              const rooftile_embed_problem* problem, const rooftile_embed_operands* operands) {
  rte_call call;
  return fits(kernel, limits, problem, operands, &call);
}

// -1: it is no product.
int shim_c_overlaps(const rooftile_embed_limits* limits, const rooftile_embed_problem* problem,
                    const rooftile_embed_operands* operands) {
  rte_call call;
  const rooftile_embed_status status = rte_bind(limits, problem, operands, &call);
  return status != ROOFTILE_EMBED_OK ? -1 : rte_c_overlaps(&call, operands);
}

// Steps of a kernel that fits.
void shim_plan(int kernel, const rooftile_embed_limits* limits,
               const rooftile_embed_problem* problem, const rooftile_embed_operands* operands,
               double max_flops, void* user, rte_visit visit) {
  rte_call call;
  if (fits(kernel, limits, problem, operands, &call) == ROOFTILE_EMBED_OK)
    rte_plan(&rte_kernels[kernel], limits, &call, max_flops, user, visit);
}

// 32-bit words of packed A, packed B and partial sums.
void shim_sizes(int kernel, const rooftile_embed_limits* limits,
                const rooftile_embed_problem* problem, const rooftile_embed_operands* operands,
                int64_t* words) {
  rte_call call;
  if (fits(kernel, limits, problem, operands, &call) != ROOFTILE_EMBED_OK) return;
  const rte_sizes sizes = rte_sizes_of(&rte_kernels[kernel], &call);
  words[0] = sizes.packed_a;
  words[1] = sizes.packed_b;
  words[2] = sizes.parts;
}

// The words of a shader's module, to be freed.
uint32_t* shim_module(int shader) {
  uint8_t* const bytes = rte_unpack();
  uint32_t* const words =
      rte_module(bytes + rte_shaders[shader].first, (size_t)rte_shaders[shader].words);
  free(bytes);
  return words;
}
