// The real worker with a fake driver layer that has counters (tests/support/counting_driver.h).
// $ROOFTILE_TEST_COUNTERS makes the layer fail.
#include "tuner/worker/worker.h"

int main() { return rooftile::run_worker(); }
