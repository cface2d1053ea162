#include "tuner/measure/own_processors.h"

#include <pthread.h>

namespace rooftile {

bool bind_to(int processor) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(processor, &only);
  return ::pthread_setaffinity_np(::pthread_self(), sizeof only, &only) == 0;
}

OwnProcessors::OwnProcessors() {
  known_ = ::pthread_getaffinity_np(::pthread_self(), sizeof set_, &set_) == 0;
}

OwnProcessors::~OwnProcessors() {
  if (known_) ::pthread_setaffinity_np(::pthread_self(), sizeof set_, &set_);
}

std::vector<int> OwnProcessors::all() const {
  std::vector<int> processors;
  for (int i = 0; known_ && i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set_)) processors.push_back(i);
  return processors;
}

}  // namespace rooftile
