// What the tests of the runtime share: owners for the API's objects, tensors over vectors, and status checks.
#ifndef FATHOM_TESTS_RUNTIME_TESTSUPPORT_H
#define FATHOM_TESTS_RUNTIME_TESTSUPPORT_H

#include "fathom_rt.h"
#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace fathom::test {

struct Free {
  void operator()(fathom_status *S) const { fathom_status_free(S); }
  void operator()(fathom_model *M) const { fathom_model_free(M); }
  void operator()(fathom_context *C) const { fathom_context_free(C); }
};
using StatusPtr = std::unique_ptr<fathom_status, Free>;
using ModelPtr = std::unique_ptr<fathom_model, Free>;
using ContextPtr = std::unique_ptr<fathom_context, Free>;

inline void expectOk(fathom_status *Status) {
  StatusPtr Owned(Status);
  EXPECT_EQ(fathom_status_code(Status), FATHOM_OK) << fathom_status_message(Status);
}

// Expects this code, a message that contains Text, and these nodes.
inline void expectError(fathom_status *Status, fathom_code Code, const std::string &Text,
                        const std::string &Nodes = "") {
  StatusPtr Owned(Status);
  EXPECT_EQ(fathom_status_node(Status), Nodes);
  EXPECT_EQ(fathom_status_code(Status), Code) << fathom_status_message(Status);
  EXPECT_NE(std::string(fathom_status_message(Status)).find(Text), std::string::npos)
      << "message: " << fathom_status_message(Status) << "\nwanted:  " << Text;
}

inline std::string artifact(const std::string &Name) { return std::string(ARTIFACTS) + "/" + Name + ".so"; }

inline ModelPtr load(const std::string &Name) {
  fathom_model *Model = nullptr;
  expectOk(fathom_model_load(artifact(Name).c_str(), &Model));
  return ModelPtr(Model);
}

inline ContextPtr makeContext(fathom_model *Model, int32_t Threads = 1) {
  fathom_context_options Options = FATHOM_CONTEXT_OPTIONS_INIT;
  Options.threads = Threads;
  fathom_context *Context = nullptr;
  expectOk(fathom_context_create(Model, &Options, &Context));
  return ContextPtr(Context);
}

template <typename T> constexpr int32_t dtypeOf();
template <> constexpr int32_t dtypeOf<float>() { return FATHOM_F32; }
template <> constexpr int32_t dtypeOf<double>() { return FATHOM_F64; }
template <> constexpr int32_t dtypeOf<int64_t>() { return FATHOM_I64; }
template <> constexpr int32_t dtypeOf<uint8_t>() { return FATHOM_BOOL; }

template <typename T> fathom_tensor tensor(std::vector<T> &Data, const std::vector<int64_t> &Dims) {
  return {Data.data(), dtypeOf<T>(), int32_t(Dims.size()), Dims.data(), Data.size() * sizeof(T)};
}

inline fathom_status *run(const ContextPtr &Context, const std::vector<fathom_tensor> &Inputs,
                          const std::vector<fathom_tensor> &Outputs) {
  return fathom_context_run(Context.get(), Inputs.data(), Inputs.size(), Outputs.data(), Outputs.size());
}

// One run of the artifact scale_add: z[batch, 3] = (x + y) * {1, 2, -0.5} and its total.
struct ScaleAdd {
  explicit ScaleAdd(int64_t Batch) : Dims{Batch, 3}, X(size_t(Batch) * 3), Y(X.size()), Z(X.size(), -1), Total(1, -1) {
    for (size_t I = 0; I < X.size(); ++I) {
      X[I] = float(int(I % 1013) - 500) / 7;
      Y[I] = float(I % 29) / 3;
    }
  }

  fathom_status *run(const ContextPtr &Context) {
    return test::run(Context, {tensor(X, Dims), tensor(Y, Dims)}, {tensor(Z, Dims), tensor(Total, {})});
  }

  void expectRight() const {
    const float Weights[3] = {1.0f, 2.0f, -0.5f};
    float Sum = 0;
    for (size_t I = 0; I < X.size(); ++I) {
      volatile float Added = X[I] + Y[I]; // no fused multiply-add
      volatile float Scaled = Added * Weights[I % 3];
      Sum += Scaled;
      ASSERT_EQ(Z[I], Scaled) << "at " << I;
    }
    ASSERT_EQ(Total[0], Sum);
  }

  std::vector<int64_t> Dims;
  std::vector<float> X, Y, Z, Total;
};

// A folder that is gone after the test.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string Template = testing::TempDir() + "/fathom-XXXXXX";
    Name = mkdtemp(Template.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(Name); }
  std::string operator/(const std::string &File) const { return Name + "/" + File; }

private:
  std::string Name;
};

inline std::string readFile(const std::string &Path) {
  std::ifstream In(Path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(In), {});
}

inline void writeFile(const std::string &Path, const std::string &Bytes) {
  std::ofstream(Path, std::ios::binary) << Bytes;
}

} // namespace fathom::test

#endif
