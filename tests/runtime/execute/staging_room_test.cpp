// Which calls hold staged operands beside each other.
#include "runtime/execute/staging_room.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <thread>

#include "tests/support/await.h"

namespace rooftile {
namespace {

/// A call on a thread of its own, which comes in when there is room and stays until it is told.
class Caller {
 public:
  Caller(StagingRoom& room, std::uint64_t bytes)
      : thread_([this, &room, bytes] {
          StagingRoom::Place place = room.enter(bytes);
          is_in_ = true;
          leave_.wait(false);
        }) {}
  bool is_in() const { return is_in_; }
  void leave() {
    leave_ = true;
    leave_.notify_all();
  }

 private:
  std::atomic<bool> is_in_ = false, leave_ = false;
  std::jthread thread_;
};

class StagingRoomTest : public ::testing::Test {
 protected:
  ~StagingRoomTest() override {
    for (Caller& caller : callers_) caller.leave();
  }
  Caller& call(std::uint64_t bytes) { return callers_.emplace_back(room_, bytes); }
  Caller& call_that_comes_in(std::uint64_t bytes) {
    Caller& caller = call(bytes);
    EXPECT_TRUE(await("it is in", [&] { return caller.is_in(); }));
    return caller;
  }
  testing::AssertionResult waits(int calls) const {
    return await("calls wait", [&] { return room_.state().waiting == calls; });
  }

  StagingRoom room_{100};
  std::deque<Caller> callers_;
};

TEST_F(StagingRoomTest, CallsWaitWhileTheyWouldExceedTheLimit) {
  call_that_comes_in(60);
  Caller& second = call_that_comes_in(40);
  const Caller& third = call(1);
  EXPECT_TRUE(waits(1));
  EXPECT_FALSE(third.is_in());
  second.leave();
  EXPECT_TRUE(await("there is room", [&] { return third.is_in(); }));
}

TEST_F(StagingRoomTest, OneCallIsLetInWhateverItsSize) {
  Caller& large = call_that_comes_in(1000);
  const Caller& small = call(1);
  EXPECT_TRUE(waits(1));
  EXPECT_FALSE(small.is_in());
  large.leave();
  EXPECT_TRUE(await("there is room", [&] { return small.is_in(); }));
}

TEST_F(StagingRoomTest, ALargeCallIsNotPassedBySmallOnes) {
  Caller& first = call_that_comes_in(60);
  Caller& large = call(80);
  EXPECT_TRUE(waits(1));
  const Caller& small = call(30);
  EXPECT_TRUE(waits(2));
  first.leave();
  EXPECT_TRUE(await("the large call is in", [&] { return large.is_in(); }));
  EXPECT_FALSE(small.is_in());
  large.leave();
  EXPECT_TRUE(await("there is room", [&] { return small.is_in(); }));
}

TEST_F(StagingRoomTest, ACallBecomesAloneAndStaysSo) {
  Caller& other = call_that_comes_in(10);
  std::atomic<bool> alone = false, leave = false;
  {
    std::jthread caller([&] {
      StagingRoom::Place place = room_.enter(10);
      EXPECT_TRUE(place.become_alone());
      EXPECT_FALSE(place.become_alone()) << "it is alone already";
      alone = true;
      leave.wait(false);
    });
    EXPECT_TRUE(await("the call has left the room", [&] {
      return room_.state().inside == 1 && room_.state().waiting == 1;
    }));
    EXPECT_FALSE(alone);
    other.leave();
    EXPECT_TRUE(await("it is alone", [&] { return alone.load(); }));
    const Caller& later = call(1);
    EXPECT_TRUE(waits(1));
    EXPECT_FALSE(later.is_in());
    leave = true;
    leave.notify_all();
  }
  EXPECT_TRUE(await("there is room", [&] { return callers_.back().is_in(); }));
}

}  // namespace
}  // namespace rooftile
