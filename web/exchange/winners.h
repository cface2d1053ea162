#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "db/store.h"

namespace rooftile::web {

/// What the page reads beside itself: {"version": "0.1.0", "known": [{"problem": {...}, "variant":
/// text}]} with the fastest kernel of every problem without an epilogue that the database has
/// tuned, at most 200 of them. Null: the page begins without any.
nlohmann::json known_kernels(const Store* store, const std::string& version);

}  // namespace rooftile::web
