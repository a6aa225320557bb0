// Tests of the questions a program can ask about a model.
#include "TestSupport.h"

using namespace fathom::test;

TEST(Model, TellsInputsAndOutputs) {
  ModelPtr Model = load("scale_add");
  ASSERT_EQ(fathom_model_input_count(Model.get()), 2u);
  ASSERT_EQ(fathom_model_output_count(Model.get()), 2u);
  fathom_tensor_info Info;
  expectOk(fathom_model_input(Model.get(), 1, &Info));
  EXPECT_STREQ(Info.name, "y");
  EXPECT_EQ(Info.dtype, FATHOM_F32);
  ASSERT_EQ(Info.rank, 2);
  EXPECT_EQ(Info.dims[0], -1);
  EXPECT_EQ(Info.dims[1], 3);
  EXPECT_STREQ(Info.symbols[0], "batch");
  EXPECT_EQ(Info.symbols[1], nullptr);
  expectOk(fathom_model_output(Model.get(), 0, &Info));
  EXPECT_STREQ(Info.name, "z");
  ASSERT_EQ(Info.rank, 2);
  EXPECT_EQ(Info.dims[0], -1);
  EXPECT_EQ(Info.dims[1], 3);
  EXPECT_EQ(Info.symbols[0], nullptr);
  expectOk(fathom_model_output(Model.get(), 1, &Info));
  EXPECT_STREQ(Info.name, "total");
  EXPECT_EQ(Info.rank, 0);
}

TEST(Model, TellsEachInputsOwnSymbols) {
  ModelPtr Model = load("gather");
  for (size_t I = 0; I < 2; ++I) {
    fathom_tensor_info Info;
    expectOk(fathom_model_input(Model.get(), I, &Info));
    EXPECT_EQ(Info.dims[0], -1);
    EXPECT_EQ(Info.dims[1], -1);
    EXPECT_STREQ(Info.symbols[0], "batch");
    EXPECT_STREQ(Info.symbols[1], "seq");
  }
}

TEST(Model, TellsSymbolsKernelsAndTheRest) {
  ModelPtr Model = load("scale_add");
  ASSERT_EQ(fathom_model_symbol_count(Model.get()), 1u);
  fathom_symbol_info Symbol;
  expectOk(fathom_model_symbol(Model.get(), 0, &Symbol));
  EXPECT_STREQ(Symbol.name, "batch");
  EXPECT_EQ(Symbol.min, 0);
  EXPECT_EQ(Symbol.max, 4000000);
  ASSERT_EQ(fathom_model_kernel_count(Model.get()), 3u);
  fathom_kernel_info Kernel;
  expectOk(fathom_model_kernel(Model.get(), 1, &Kernel));
  EXPECT_STREQ(Kernel.name, "scale_1");
  EXPECT_STREQ(Kernel.nodes, "Mul_1,Mul_2");
  EXPECT_STREQ(fathom_model_manifest(Model.get()), "{\"name\": \"scale_add\"}");
  EXPECT_EQ(fathom_model_weights_bytes(Model.get()), 12u);
}

TEST(Model, RefusesWrongQuestions) {
  ModelPtr Model = load("scale_add");
  fathom_tensor_info Info;
  fathom_symbol_info Symbol;
  fathom_kernel_info Kernel;
  const fathom_code Wrong = FATHOM_ERROR_INVALID_ARGUMENT;
  expectError(fathom_model_input(Model.get(), 2, &Info), Wrong, "fathom_model_input: index 2, and the model has 2");
  expectError(fathom_model_output(Model.get(), 9, &Info), Wrong, "index 9");
  expectError(fathom_model_symbol(Model.get(), 1, &Symbol), Wrong, "index 1");
  expectError(fathom_model_kernel(Model.get(), SIZE_MAX, &Kernel), Wrong, "the model has 3");
  expectError(fathom_model_input(nullptr, 0, &Info), Wrong, "model is null");
  expectError(fathom_model_input(Model.get(), 0, nullptr), Wrong, "info is null");
}

TEST(Model, TakesNullForNothing) {
  EXPECT_EQ(fathom_model_input_count(nullptr), 0u);
  EXPECT_EQ(fathom_model_output_count(nullptr), 0u);
  EXPECT_EQ(fathom_model_symbol_count(nullptr), 0u);
  EXPECT_EQ(fathom_model_kernel_count(nullptr), 0u);
  EXPECT_EQ(fathom_model_weights_bytes(nullptr), 0u);
  EXPECT_STREQ(fathom_model_manifest(nullptr), "");
  fathom_model_free(nullptr);
}
