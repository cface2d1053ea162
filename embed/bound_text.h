// The error bound of a class of products, in words.
#pragma once

#include <string>

#include "generator/signature.h"

namespace rooftile {

/// What a certificate of the class has checked, as docs/precision.md and docs/types.md explain it.
std::string bound_text(const Signature& s);

}  // namespace rooftile
