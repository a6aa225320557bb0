// External data: found beneath the model's folder, and every way out of it refused.
#include "TestModel.h"
#include "compiler/import/read/MappedFile.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace fathom;
using namespace fathom::test;

namespace {
class ExternalDataTest : public ImportTest {
protected:
  // A model that hands out one tensor of four floats at `location`, with these further entries.
  void importFrom(const std::string &location, std::vector<std::pair<std::string, std::string>> entries = {}) {
    TestModel model;
    model.output("w");
    auto &tensor = model.external("w", {4}, location);
    for (auto &[key, value] : entries)
      addEntry(tensor, key, value);
    import(model, folder.path());
  }
  void expectRefused(const std::string &location, const std::string &text = "",
                     std::vector<std::pair<std::string, std::string>> entries = {}) {
    importFrom(location, entries);
    expectFirst(ErrorCode::ExternalData, text);
  }

  TemporaryFolder folder;
};

TEST_F(ExternalDataTest, ReadsData) {
  float values[] = {0, 1, 2, 3, 4, 5};
  folder.write("weights.bin", std::string(reinterpret_cast<char *>(values), sizeof(values)));
  importFrom("weights.bin", {{"offset", "8"}, {"length", "16"}});
  ASSERT_TRUE(module);
  auto elements = graph::constantFloatsOf(op("Constant")->getResult(0));
  ASSERT_TRUE(elements);
  EXPECT_EQ(std::vector<double>(elements->begin(), elements->end()), (std::vector<double>{2, 3, 4, 5}));
  importFrom("./weights.bin");
  EXPECT_TRUE(module);
}

TEST_F(ExternalDataTest, ReadsFromSubfolder) {
  ASSERT_EQ(mkdir(folder.path("data").c_str(), 0700), 0);
  folder.write("data/weights.bin", std::string(16, '\0'));
  importFrom("data/weights.bin");
  EXPECT_TRUE(module);
}

TEST_F(ExternalDataTest, KeepsLargeDataMapped) {
  std::string bytes(3 + 64 * 64 * 4, '\0');
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = char(i * 5);
  folder.write("weights.bin", bytes);
  // Also at an offset that floats cannot be read at.
  for (int offset : {0, 3}) {
    TestModel model;
    model.output("w");
    addEntry(model.external("w", {64, 64}, "weights.bin"), "offset", std::to_string(offset));
    import(model, folder.path());
    ASSERT_TRUE(module);
    auto resource =
        llvm::dyn_cast<mlir::DenseResourceElementsAttr>(llvm::cast<graph::ConstantOp>(op("Constant")).getValue());
    ASSERT_TRUE(resource);
    llvm::ArrayRef<char> data = resource.getRawHandle().getBlob()->getData();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data.data()) % 4, 0u);
    EXPECT_EQ(llvm::StringRef(data.data(), data.size()), llvm::StringRef(bytes).substr(offset, 64 * 64 * 4));
  }
}

TEST_F(ExternalDataTest, NeedsAFolder) {
  TestModel model;
  model.output("w");
  model.external("w", {4}, "weights.bin");
  expectError(model, ErrorCode::ExternalData, "without a folder");
}

TEST_F(ExternalDataTest, RefusesMissingFile) { expectRefused("weights.bin", "No such file"); }

TEST_F(ExternalDataTest, RefusesPathsOut) {
  ASSERT_EQ(mkdir(folder.path("model").c_str(), 0700), 0);
  folder.write("secret.bin", std::string(16, '\0'));
  TestModel model;
  model.output("w");
  auto &tensor = model.external("w", {4}, "");
  for (const char *location :
       {"../secret.bin", "a/../../secret.bin", "..", "", ".", "/etc/hostname", "//etc/hostname"}) {
    tensor.mutable_external_data(0)->set_value(location);
    expectError(model, ErrorCode::ExternalData, "", folder.path("model"));
  }
  tensor.mutable_external_data(0)->set_value(std::string("secret.bin\0x", 12));
  expectError(model, ErrorCode::ExternalData, "null character", folder.path("model"));
}

TEST_F(ExternalDataTest, RefusesLinks) {
  TemporaryFolder outside;
  outside.write("secret.bin", std::string(16, '\0'));
  ASSERT_EQ(symlink(outside.path("secret.bin").c_str(), folder.path("leaf.bin").c_str()), 0);
  ASSERT_EQ(symlink(outside.path().c_str(), folder.path("parent").c_str()), 0);
  ASSERT_EQ(link(outside.path("secret.bin").c_str(), folder.path("hard.bin").c_str()), 0);
  folder.write("real.bin", std::string(16, '\0'));
  ASSERT_EQ(symlink("real.bin", folder.path("inside.bin").c_str()), 0);
  expectRefused("leaf.bin", "link");
  expectRefused("parent/secret.bin", "link");
  expectRefused("hard.bin", "hard link");
  expectRefused("inside.bin", "link");
}

TEST_F(ExternalDataTest, RefusesSpecialFiles) {
  ASSERT_EQ(mkfifo(folder.path("fifo").c_str(), 0600), 0);
  ASSERT_EQ(mkdir(folder.path("sub").c_str(), 0700), 0);
  expectRefused("fifo", "regular file");
  expectRefused("sub", "regular file");
}

TEST_F(ExternalDataTest, OldKernelsRefuseTheSame) {
  ASSERT_EQ(mkdir(folder.path("data").c_str(), 0700), 0);
  folder.write("data/weights.bin", "abcd");
  ASSERT_EQ(symlink("data", folder.path("parent").c_str()), 0);
  ASSERT_EQ(symlink("data/weights.bin", folder.path("leaf").c_str()), 0);
  int fd = open(folder.path().c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_GE(fd, 0);
  for (auto how : {importer::OpenWith::Openat2, importer::OpenWith::Components}) {
    auto good = importer::openBeneath(fd, "data/weights.bin", how);
    ASSERT_TRUE(bool(good));
    close(*good);
    for (const char *name : {"parent/weights.bin", "leaf", "data/../data/weights.bin", "data/none", "/etc/hostname"}) {
      auto bad = importer::openBeneath(fd, name, how);
      EXPECT_FALSE(bool(bad)) << name;
      llvm::consumeError(bad.takeError());
    }
  }
  close(fd);
}

TEST_F(ExternalDataTest, RefusesBadRanges) {
  folder.write("weights.bin", std::string(16, '\0'));
  for (const char *offset : {"-1", "1", "17", "18446744073709551615", "99999999999999999999", "x", "", "0x0", "1.0"})
    expectRefused("weights.bin", "", {{"offset", offset}});
  for (const char *length : {"-16", "15", "17", "18446744073709551615", "99999999999999999999", "x"})
    expectRefused("weights.bin", "", {{"length", length}});
}

TEST_F(ExternalDataTest, RefusesStrangeKeys) {
  folder.write("weights.bin", std::string(16, '\0'));
  expectRefused("weights.bin", "unknown key", {{"basepath", "/etc"}});
  expectRefused("weights.bin", "twice", {{"location", "other.bin"}});
  expectRefused("weights.bin", "twice", {{"offset", "0"}, {"offset", "0"}});
  TestModel model;
  model.output("w");
  model.external("w", {4}, "x").clear_external_data();
  expectError(model, ErrorCode::ExternalData, "no location", folder.path());
}

TEST_F(ExternalDataTest, SameLoaderForAttributes) {
  TestModel model;
  model.output("y");
  auto *attribute = model.node("Constant", {}, {"y"}).add_attribute();
  attribute->set_name("value");
  attribute->set_type(onnx::AttributeProto::TENSOR);
  auto *tensor = attribute->mutable_t();
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->add_dims(4);
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  addEntry(*tensor, "location", "../secret.bin");
  expectError(model, ErrorCode::ExternalData, "folder", folder.path());
}

TEST_F(ExternalDataTest, RefusesUndeclaredExternalData) {
  TestModel model;
  model.output("w");
  model.external("w", {4}, "weights.bin").set_data_location(onnx::TensorProto::DEFAULT);
  expectError(model, ErrorCode::BadTensor, "says it has not", folder.path());
}

TEST_F(ExternalDataTest, FilesLookInTheirOwnFolder) {
  TestModel model;
  model.output("w");
  model.external("w", {4}, "weights.bin");
  folder.write("weights.bin", std::string(16, '\0'));
  folder.write("model.onnx", model.bytes());
  EXPECT_TRUE(importFile(folder.path("model.onnx")));
}

} // namespace
