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

/// What rooftile_numpy_product knows of the interpreter and its NumPy, and who computes. The caller
/// reads and writes it while it holds the interpreter's lock (GIL), as the function does.
typedef struct rooftile_numpy_arrays {
  rooftile_context* context;  ///< Computes; NULL: every product is left.
  int64_t running;            ///< Products that are being computed; 0 before the first.
  void* type;                 ///< numpy.ndarray. Arrays of a subclass are left.
  void* dtype;                ///< numpy.dtype("float32").
  void* none;                 ///< None.
  size_t head;  ///< sizeof(PyObject), whose last field is the type: object.__basicsize__.
  /// PyArray_Empty of NumPy's C API.
  void* (*empty)(int dimensions, const intptr_t* shape, void* dtype, int by_columns);
} rooftile_numpy_arrays;

/// The product of two float32 arrays of one or two dimensions as a method of CPython
/// (METH_FASTCALL): (a, b, out), where out is an array or None. A call costs less than through
/// ctypes, as much as one of NumPy. self: a capsule without a name that holds the address of
/// rooftile_numpy_arrays.
///
/// Returns a new reference to the result, or to None where the product is left to the caller:
/// other objects, types and strides, two vectors, sizes of 0, sizes that do not fit, and what the
/// context refuses. NULL, with Python's MemoryError, where NumPy has no memory for the result. To
/// be called with the interpreter's lock, which other threads have during the computation.
ROOFTILE_API void* rooftile_numpy_product(void* self, void* const* objects, intptr_t count);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // ROOFTILE_NUMPY_H_
