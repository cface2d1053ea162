// The worker's side of the protocol: lines of JSON in, lines of JSON out.
#pragma once

#include <cstdio>
#include <istream>

#include "tuner/worker/worker_operations.h"

namespace rooftile {

/// No request has more bytes; one that does ends the conversation.
inline constexpr std::streamsize kMostRequestBytes = 2 * kMostCodeBytes + (64 << 10);

/// Answers each line of `requests` until it ends, in its order. What is no request, or asks for
/// what the device cannot do or no tuner needs, is answered with an error and reaches no operation.
/// Returns false where replies cannot be written or a request is too long.
bool serve_requests(std::istream& requests, std::FILE* replies, WorkerOperations& operations);

}  // namespace rooftile
