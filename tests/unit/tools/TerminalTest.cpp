// What is told of the time that is left.
#include "tools/fathom/Terminal.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

TEST(TimeLeft, GoesByTheRateSoFar) {
  EXPECT_EQ(spellTimeLeft(10, 20, 40), ", 10 s left");
  EXPECT_EQ(spellTimeLeft(60, 1, 11), ", 10 min left");
  EXPECT_EQ(spellTimeLeft(600, 1, 31), ", 5.0 h left");
}

TEST(TimeLeft, SaysNothingWithoutARate) {
  EXPECT_EQ(spellTimeLeft(1, 1, 100), "");
  EXPECT_EQ(spellTimeLeft(100, 0, 100), "");
  EXPECT_EQ(spellTimeLeft(100, 100, 100), "");
  EXPECT_EQ(spellTimeLeft(100, 0, 0), "");
}

} // namespace
} // namespace fathom
