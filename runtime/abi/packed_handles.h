// What the handles of packed.h name.
#pragma once

#include <rooftile/packed.h>

#include <memory>

#include "runtime/call/packed_operand.h"
#include "runtime/support/names.h"

namespace rooftile {

struct NamedPacked {
  std::shared_ptr<const PackedOperand> packed;
};

Names<rooftile_packed, NamedPacked>& packed_names();

}  // namespace rooftile
