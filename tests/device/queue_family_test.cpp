#include "runtime/device/physical/queue_family.h"

#include <gtest/gtest.h>

#include <vector>

namespace rooftile {
namespace {

TEST(QueueFamily, NoComputeQueueMeansNone) {
  EXPECT_EQ(choose_queue_family({}), std::nullopt);
  EXPECT_EQ(choose_queue_family(std::vector<QueueFamily>{{.compute = false, .queue_count = 1},
                                                         {.compute = true, .queue_count = 0}}),
            std::nullopt);
}

TEST(QueueFamily, TimestampsDecideThenTheFirstListed) {
  const std::vector<QueueFamily> families = {
      {.compute = false, .queue_count = 2, .timestamp_valid_bits = 64},
      {.compute = true, .queue_count = 8, .timestamp_valid_bits = 0},
      {.compute = true, .queue_count = 1, .timestamp_valid_bits = 36},
      {.compute = true, .queue_count = 4, .timestamp_valid_bits = 36}};
  EXPECT_EQ(choose_queue_family(families), 2u);
}

}  // namespace
}  // namespace rooftile
