// Tests of data types and statuses.
#include "Status.h"
#include "TestSupport.h"

using namespace fathom::test;

TEST(DType, HasTheNumbersOfOnnx) {
  EXPECT_EQ(fathom_dtype_bytes(FATHOM_F32), 4u);
  EXPECT_EQ(fathom_dtype_bytes(FATHOM_I64), 8u);
  EXPECT_EQ(fathom_dtype_bytes(FATHOM_BF16), 2u);
  EXPECT_EQ(fathom_dtype_bytes(FATHOM_BOOL), 1u);
  EXPECT_EQ(fathom_dtype_bytes(FATHOM_STRING), sizeof(fathom_string));
  EXPECT_STREQ(fathom_dtype_name(FATHOM_STRING), "string");
  EXPECT_STREQ(fathom_dtype_name(FATHOM_F16), "float16");
  EXPECT_STREQ(fathom_dtype_name(11), "float64");
  EXPECT_EQ(fathom_dtype_bytes(FATHOM_I2), 1u);
  EXPECT_STREQ(fathom_dtype_name(17), "float8_e4m3fn");
  EXPECT_STREQ(fathom_dtype_name(26), "int2");
}

TEST(DType, KnowsNoOthers) {
  for (int32_t Number : {-1, 0, 14, 15, 27, 1000}) {
    EXPECT_EQ(fathom_dtype_bytes(Number), 0u);
    EXPECT_STREQ(fathom_dtype_name(Number), "unknown");
  }
}

TEST(Status, NullIsOk) {
  EXPECT_EQ(fathom_status_code(nullptr), FATHOM_OK);
  EXPECT_STREQ(fathom_status_message(nullptr), "");
  fathom_status_free(nullptr);
}

TEST(Status, HoldsLongMessages) {
  std::string Long(100000, 'a');
  StatusPtr Status(fathom::makeStatus(FATHOM_ERROR_FILE, "%s!", Long.c_str()));
  EXPECT_EQ(fathom_status_code(Status.get()), FATHOM_ERROR_FILE);
  EXPECT_EQ(fathom_status_message(Status.get()), Long + "!");
}

TEST(Version, IsThere) { EXPECT_STREQ(fathom_version(), "1.0.0"); }
