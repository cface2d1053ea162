// Definition of rooftile.h's opaque context.
#pragma once

#include "runtime/dispatch/context.h"

struct rooftile_context {
  rooftile::Context context;
};
