// What a C program must know of a kernel to decide whether it fits a product, and to dispatch it:
// numbers that rules and plan of the generator are made of. Pure functions.
#pragma once

#include "core/variant.h"
#include "embed/header/tables.h"
#include "generator/signature.h"

namespace rooftile {

/// Everything but the indices of class and shaders, the matrix shapes and the features.
rte_kernel kernel_facts(const Variant& v, const Signature& s);
/// Everything but the indices of kernels.
rte_class class_facts(const Signature& s);

}  // namespace rooftile
