// Translation of exceptions to status codes. Only the C ABI's own files include this header.
#pragma once

#include <rooftile/rooftile.h>

#include <new>
#include <string>

#include "core/error.h"

namespace rooftile {

/// The calling thread's message for rooftile_last_error.
std::string& last_error();
rooftile_status status_of(ErrorCode code);

template <typename Body>
rooftile_status guarded(const Body& body) noexcept {
  try {
    body();
    return ROOFTILE_OK;
  } catch (const Error& error) {
    last_error() = error.what();
    return status_of(error.code());
  } catch (const std::bad_alloc&) {
    last_error() = "out of host memory";
    return ROOFTILE_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    last_error() = error.what();
    return ROOFTILE_INTERNAL_ERROR;
  }
}

}  // namespace rooftile
