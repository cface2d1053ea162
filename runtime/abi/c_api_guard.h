// Translation of exceptions to status codes. Only the C ABI's own files include this header.
#pragma once

#include <rooftile/rooftile.h>

#include <new>
#include <string>

#include "core/error.h"
#include "runtime/support/float_environment.h"

namespace rooftile {

/// The calling thread's message for rooftile_last_error.
std::string& last_error();
rooftile_status status_of(ErrorCode code);

/// Runs the body with the caller's floating-point flags and traps.
template <typename Body>
rooftile_status translated(const Body& body) noexcept {
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

/// Runs the body so that it neither raises flags of the caller nor traps.
template <typename Body>
rooftile_status guarded(const Body& body) noexcept {
  const QuietFloats quiet;
  return translated(body);
}

}  // namespace rooftile
