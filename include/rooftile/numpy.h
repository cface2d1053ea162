/// Rooftile: the loop of numpy.matmul for float32, for bindings that route NumPy's own products.
///
/// A binding gives rooftile_numpy_matmul to NumPy's PyUFunc_ReplaceLoopBySignature, hands the loop
/// that it gets back to rooftile_numpy_route, and puts that loop back at its end. From then on `a @
/// b` and numpy.matmul run here, in every thread and for stacks of matrices as well; NumPy has
/// already checked, converted and, where the result overlaps an operand, copied its arrays. The
/// Python package's numpy_patch does all of this.
#ifndef ROOFTILE_NUMPY_H_
#define ROOFTILE_NUMPY_H_

#include <rooftile/rooftile.h>

#ifdef __cplusplus
extern "C" {
#endif

/// An inner loop of a ufunc of NumPy: PyUFuncGenericFunction.
typedef void (*rooftile_numpy_loop)(char** args, const intptr_t* sizes, const intptr_t* strides,
                                    void* data);

/// Which products rooftile_numpy_matmul computes, and on which context; one setting for the whole
/// process.
typedef struct rooftile_numpy_args {
  size_t struct_size;            ///< Set by the caller to sizeof(rooftile_numpy_args).
  rooftile_numpy_loop original;  ///< NumPy's loop, which computes what is not routed.
  rooftile_context* context;     ///< Computes what is routed; NULL: nothing is.
  int64_t least;                 ///< Products of m * n * k multiplications or more are routed.
} rooftile_numpy_args;

/// Makes args the setting, unless it is NULL, waits for the products that run with the earlier
/// setting, and gives the number of products that were computed on a context, and of calls of the
/// loop, since the process began; both may be NULL. To be called with another context, or with NULL
/// for it, before the context is closed. In a forked child the products of the parent's threads are
/// not waited for. Thread-safe.
///
/// Errors: INVALID_ARGUMENT where args->original is NULL, or least negative.
ROOFTILE_API rooftile_status rooftile_numpy_route(const rooftile_numpy_args* args,
                                                  int64_t* products, int64_t* calls);

/// The loop. Products of matrices with two rows and columns or more are routed where rows or
/// columns lie side by side, but for a product of a matrix with its own transpose, of which NumPy
/// computes one half only. All others, and those that the context refuses, are NumPy's.
ROOFTILE_API void rooftile_numpy_matmul(char** args, const intptr_t* sizes, const intptr_t* strides,
                                        void* data);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // ROOFTILE_NUMPY_H_
