// The defines of kernels: values of the names in the conditions and the code of templates/, from a
// variant and a signature.
#pragma once

#include <cstddef>

#include "core/device_profile.h"
#include "core/variant.h"
#include "generator/signature.h"
#include "generator/templates.h"
#include "generator/web/dialect.h"

namespace rooftile {

/// Sets a define, in its place if it is there already.
void set_define(Defines& defines, std::string_view name, std::string_view value);
void set_define(Defines& defines, std::string_view name, int value);

/// GLSL's name of a vector of float32, float16 or int32.
std::string vector_type(DataType type, int width);

/// ELEMENT, ELEMENT_2 and ELEMENT_4, the types of sums, and SUM_TYPE.
void define_elements(Defines& defines, DataType sums);
/// TYPE_C, EPILOGUE and its steps, and the numbers that load and store C.
void define_result(Defines& defines, DataType c, const Epilogue& epilogue, Dialect dialect);
/// How a quantised B is read: by words of this width, by windows of so many elements (0: not by
/// windows), from these bindings. B_FORMAT is PLAIN where `reads` is false.
void define_weights(Defines& defines, const Types& t, bool reads, int width, int window,
                    int b_binding, std::size_t scale_binding);
/// The shape and types of matrix operations (templates/matrix/cooperative_matrix.glsl). Throws
/// kInternal for a type that no matrix unit supports.
void define_matrix(Defines& defines, const MatrixShape& shape);

/// All of a GEMM kernel: each parameter of the variant in capitals, with its value, and what
/// follows from them. s is that of the kernel itself (gemm_signature). Defines that the template
/// does not use are left out of the text.
Defines gemm_defines(const Variant& v, const Signature& s, Dialect dialect);
/// Those of a pack kernel, without B_FORMAT and GROUPED, which emit_pack() adds.
Defines pack_defines(const Variant& v, const Signature& s, Operand operand);
/// Those of the kernel that adds partial sums.
Defines reduce_defines(const Signature& s, Dialect dialect);

}  // namespace rooftile
