// The real worker beneath a driver with counters (tests/support/counting_driver.h), which
// $ROOFTILE_TEST_COUNTERS makes fail.
#include "tuner/worker/worker.h"

int main() { return rooftile::run_worker(); }
