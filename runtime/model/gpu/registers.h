// Registers of a kernel on a GPU, before its driver's compiler has seen it. Pure functions.
#pragma once

#include "core/types.h"
#include "core/variant.h"
#include "runtime/model/gpu/gpu_generation.h"

namespace rooftile {

/// Registers of 32 bits that an invocation needs, estimated
/// (tests/model/compiled_order_test.cpp holds this against compilers). 0, which is unknown, for
/// matrices of whole workgroups, whose elements the driver distributes.
double needed_registers(const Variant& v, const Types& types, const GpuGeneration& gpu);
/// Registers of 32 bits that an invocation can have; the compiler spills the others to memory.
double available_registers(const Variant& v, const GpuGeneration& gpu);
/// Whether the estimate leaves a quarter of the registers free: what is likely to compile without
/// spills (tests/gpu_compilers/test_chip.py). Never for matrix operations that a driver emulates.
bool surely_fits_registers(const Variant& v, const Types& types, const GpuGeneration& gpu);

}  // namespace rooftile
