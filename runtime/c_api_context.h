// What rooftile.h's opaque context is.
#pragma once

#include "runtime/context.h"

struct rooftile_context {
  rooftile::Context context;
};
