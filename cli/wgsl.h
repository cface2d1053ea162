// Translation of kernels to WGSL by node, with the modules of web/wgsl/, which this program holds.
#pragma once

#include <string>

#include "generator/emit.h"

namespace rooftile {

/// The WGSL of a shader of Dialect::kWeb. Throws kUnsupported, saying what to run, where node or
/// npm's naga-wasm is not set up, kCompile where the translation fails, and kIo.
std::string wgsl_of(const Shader& shader);

}  // namespace rooftile
