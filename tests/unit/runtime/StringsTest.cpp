// Tests of strings: numbered on their way in, spelled on their way out.
#include "Strings.h"
#include "TestSupport.h"

#include <string>

using namespace fathom::test;

namespace {

fathom_string stringOf(const std::string &Text) { return {Text.data(), Text.size()}; }

struct Turn {
  ModelPtr Model = load("strings");
  ContextPtr Context = makeContext(Model.get());

  fathom_status *run(const std::vector<fathom_string> &In, std::vector<fathom_string> &Out) {
    int64_t Dims[1] = {int64_t(In.size())};
    Out.resize(In.size());
    fathom_tensor Input{const_cast<fathom_string *>(In.data()), FATHOM_STRING, 1, Dims, In.size() * sizeof(In[0])};
    fathom_tensor Output{Out.data(), FATHOM_STRING, 1, Dims, Out.size() * sizeof(Out[0])};
    return fathom_context_run(Context.get(), &Input, 1, &Output, 1);
  }
};

TEST(StringsTest, ComeOutAsTheyWentIn) {
  Turn T;
  std::vector<fathom_string> Out;
  for (size_t Count : {0, 1, 3, 1000}) {
    std::vector<std::string> Texts;
    for (size_t I = 0; I < Count; ++I)
      Texts.push_back(I % 3 == 0 ? "red" : I % 3 == 1 ? std::string("a\0b", 3) : std::to_string(I));
    std::vector<fathom_string> In;
    for (const std::string &Text : Texts)
      In.push_back(stringOf(Text));
    expectOk(T.run(In, Out));
    for (size_t I = 0; I < Count; ++I)
      EXPECT_EQ(std::string(Out[I].data, Out[I].size), Texts[Count - 1 - I]);
  }
}

TEST(StringsTest, BelongToTheModelOrToTheCaller) {
  Turn T;
  std::string Known = "red", Other = "blue", Same = "blue";
  std::vector<fathom_string> Out;
  expectOk(T.run({stringOf(Known), stringOf(Other), stringOf(Same), {nullptr, 0}}, Out));
  EXPECT_NE(Out[3].data, Known.data());
  EXPECT_EQ(Out[2].data, Other.data());
  EXPECT_EQ(Out[1].data, Other.data()) << "equal strings have one number";
  EXPECT_EQ(Out[0].size, 0u);
}

TEST(StringsTest, WithoutATextAreRefused) {
  Turn T;
  std::vector<fathom_string> Out;
  expectError(T.run({{nullptr, 2}}, Out), FATHOM_ERROR_INVALID_ARGUMENT, "input 'in': string 0 has no text");
}

TEST(StringsTest, NumbersThatNobodyHasAreABug) {
  Turn T;
  std::string Text = "x";
  std::vector<fathom_string> Out;
  expectError(T.run(std::vector<fathom_string>(7, stringOf(Text)), Out), FATHOM_ERROR_INTERNAL,
              "output 'out' has string number 99, and there are 3");
}

TEST(StringsTest, TablesGrow) {
  fathom::StringNumbers Numbers;
  std::vector<std::string> Texts;
  for (int I = 0; I < 1000; ++I)
    Texts.push_back(std::to_string(I));
  for (int I = 0; I < 1000; ++I) {
    EXPECT_EQ(Numbers.find(stringOf(Texts[I])), -1);
    EXPECT_EQ(Numbers.add(stringOf(Texts[I])), I);
  }
  for (int I = 0; I < 1000; ++I)
    EXPECT_EQ(Numbers.find(stringOf(Texts[I])), I);
  Numbers.clear();
  EXPECT_EQ(Numbers.find(stringOf(Texts[7])), -1);
  EXPECT_EQ(Numbers.add(stringOf(Texts[7])), 0);
}

} // namespace
