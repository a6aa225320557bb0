// What a graph's hash tells apart, and what it does not.
#include "compiler/graph/GraphHash.h"

#include "compiler/graph/Graph.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace fathom {
namespace {

class GraphHashTest : public ::testing::Test {
protected:
  GraphHashTest() { context.loadDialect<graph::GraphDialect, func::FuncDialect>(); }

  uint64_t hashOf(const std::string &body, const std::string &result = "%b") {
    std::string text = "func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {\n" + body +
                       "\nreturn " + result + " : tensor<3xf32>\n}";
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    return module ? hash.of(*module) : 0;
  }
  static std::string unary(const std::string &to, const std::string &op, const std::string &from) {
    return to + " = graph." + op + "(" + from + ") : (tensor<3xf32>) -> tensor<3xf32>\n";
  }
  static std::string binary(const std::string &to, const std::string &op, const std::string &a, const std::string &b) {
    return to + " = graph." + op + "(" + a + ", " + b + ") : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>\n";
  }
  static std::string constant(const std::string &to, const std::string &value) {
    return to + " = graph.Constant dense<" + value + "> : tensor<3xf32> as tensor<3xf32>\n";
  }

  MLIRContext context;
  GraphHash hash;
};

TEST_F(GraphHashTest, NamesAndOrderDoNotCount) {
  uint64_t one = hashOf(unary("%a", "Exp", "%x") + unary("%c", "Abs", "%y") + binary("%b", "Add", "%a", "%c"));
  EXPECT_EQ(one, hashOf(unary("%7", "Abs", "%y") + unary("%8", "Exp", "%x") + binary("%b", "Add", "%8", "%7")));
  std::string named = "%a = graph.Exp(%x) {graph.name = \"e\"} : (tensor<3xf32>) -> tensor<3xf32> loc(\"e\")\n";
  EXPECT_EQ(one, hashOf(named + unary("%c", "Abs", "%y") + binary("%b", "Add", "%a", "%c")));
}

TEST_F(GraphHashTest, OperandsCount) {
  std::string ops = unary("%a", "Exp", "%x") + unary("%c", "Abs", "%y");
  EXPECT_NE(hashOf(ops + binary("%b", "Sub", "%a", "%c")), hashOf(ops + binary("%b", "Sub", "%c", "%a")));
  EXPECT_NE(hashOf(ops + binary("%b", "Sub", "%a", "%c")), hashOf(ops + binary("%b", "Add", "%a", "%c")));
  EXPECT_NE(hashOf(unary("%b", "Exp", "%x")), hashOf(unary("%b", "Exp", "%y")));
}

TEST_F(GraphHashTest, AttributesCount) {
  auto leaky = [](const std::string &alpha) {
    return "%b = graph.LeakyRelu(%x) {alpha = " + alpha + " : f32} : (tensor<3xf32>) -> tensor<3xf32>\n";
  };
  EXPECT_EQ(hashOf(leaky("0.5")), hashOf(leaky("5.0e-1")));
  EXPECT_NE(hashOf(leaky("0.5")), hashOf(leaky("0.25")));
}

TEST_F(GraphHashTest, ConstantsCountByWhatTheyHold) {
  auto scaled = [](const std::string &value) { return constant("%c", value) + binary("%b", "Mul", "%x", "%c"); };
  EXPECT_EQ(hashOf(scaled("2.0")), hashOf(scaled("[2.0, 2.0, 2.0]")));
  EXPECT_NE(hashOf(scaled("2.0")), hashOf(scaled("3.0")));
  EXPECT_NE(hashOf(scaled("[1.0, 2.0, 3.0]")), hashOf(scaled("[1.0, 2.0, 4.0]")));
  // However many ops hold it.
  std::string one = constant("%c", "2.0") + binary("%a", "Mul", "%x", "%c") + binary("%b", "Mul", "%a", "%c");
  std::string two =
      constant("%c", "2.0") + constant("%d", "2.0") + binary("%a", "Mul", "%x", "%c") + binary("%b", "Mul", "%a", "%d");
  EXPECT_EQ(hashOf(one), hashOf(two));
  EXPECT_EQ(hashOf(one), hashOf(constant("%unused", "5.0") + one));
}

TEST_F(GraphHashTest, DeadAndEqualOpsCount) {
  uint64_t one = hashOf(unary("%b", "Exp", "%x"));
  EXPECT_NE(one, hashOf(unary("%a", "Abs", "%x") + unary("%b", "Exp", "%x")));
  std::string once = unary("%a", "Exp", "%x") + binary("%b", "Add", "%a", "%a");
  std::string twice = unary("%a", "Exp", "%x") + unary("%c", "Exp", "%x") + binary("%b", "Add", "%a", "%c");
  EXPECT_NE(hashOf(once), hashOf(twice));
  EXPECT_NE(hashOf(once + unary("%c", "Exp", "%x")), hashOf(twice));
}

TEST_F(GraphHashTest, WhatIsInsideCounts) {
  auto branch = [](const std::string &op) {
    return "%t = graph.Constant dense<true> : tensor<i1> as tensor<i1>\n"
           "%b = graph.If(%t) as [[]] : (tensor<i1>) -> tensor<3xf32> {\n" +
           unary("%i", op, "%x") + "graph.Yield(%i : tensor<3xf32>)\n} else {\n" + unary("%i", "Abs", "%x") +
           "graph.Yield(%i : tensor<3xf32>)\n}\n";
  };
  EXPECT_EQ(hashOf(branch("Exp")), hashOf(branch("Exp")));
  EXPECT_NE(hashOf(branch("Exp")), hashOf(branch("Log")));
}

} // namespace
} // namespace fathom
