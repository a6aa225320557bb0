// Tests of statuses: which number of docs/user/errors.md each code is reported by.
#include "Status.h"
#include "TestSupport.h"

TEST(Status, HasTheNumbersOfTheErrorsPage) {
  EXPECT_EQ(fathom_code_number(FATHOM_OK), 0);
  EXPECT_EQ(fathom_code_number(FATHOM_ERROR_FILE), 1001);
  EXPECT_EQ(fathom_code_number(FATHOM_ERROR_FORMAT), 1011);
  EXPECT_EQ(fathom_code_number(FATHOM_ERROR_INVALID_ARGUMENT), 1012);
  EXPECT_EQ(fathom_code_number(FATHOM_ERROR_SHAPE), 1012);
  EXPECT_EQ(fathom_code_number(FATHOM_ERROR_INDEX), 1012);
  EXPECT_EQ(fathom_code_number(FATHOM_ERROR_UNSUPPORTED_CPU), 5001);
  EXPECT_EQ(fathom_code_number(FATHOM_ERROR_MEMORY), 5001);
  EXPECT_EQ(fathom_code_number(FATHOM_ERROR_BUSY), 5002);
  EXPECT_EQ(fathom_code_number(FATHOM_ERROR_DEADLINE), 5003);
  EXPECT_EQ(fathom_code_number(FATHOM_ERROR_CANCELLED), 5004);
  EXPECT_EQ(fathom_code_number(FATHOM_ERROR_INTERNAL), 7001);
}

TEST(Status, CountsAnUnknownCodeAsOurBug) { EXPECT_EQ(fathom_code_number(99), 7001); }
