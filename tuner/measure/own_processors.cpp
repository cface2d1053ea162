#include "tuner/measure/own_processors.h"

#include <pthread.h>
#include <sched.h>

namespace rooftile {

std::vector<int> own_processors() {
  cpu_set_t set = {};
  if (::pthread_getaffinity_np(::pthread_self(), sizeof set, &set) != 0) return {};
  std::vector<int> processors;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  return processors;
}

void bind_to(int processor) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(processor, &only);
  ::pthread_setaffinity_np(::pthread_self(), sizeof only, &only);
}

}  // namespace rooftile
