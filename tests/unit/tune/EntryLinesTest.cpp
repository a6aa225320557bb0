// Databases as lines of JSON: what is written is read again, and what is wrong in a line is said.
#include "compiler/tune/database/EntryLines.h"
#include "tests/unit/tune/TestDatabase.h"

using namespace fathom;
using namespace fathom::tune;

namespace {

std::string exported(ScheduleDatabase &database) {
  std::string text;
  llvm::raw_string_ostream out(text);
  expectSuccess(exportLines(database, out));
  return text;
}

std::vector<Entry> someEntries() {
  Entry precise = measured(makeEntry("kernel \"a\"\n\\ of two lines", 2), 1.0 / 3);
  precise.cycles = 1e15 + 0.5;
  precise.fp = FloatMode::Fastest;
  Entry transferred = makeEntry("b", 3);
  transferred.found = Found::Transferred;
  transferred.sizes.clear();
  transferred.machine.clear();
  return {makeEntry("kernel \"a\"\n\\ of two lines", 1), precise, transferred};
}

TEST(EntryLines, AreReadAsTheyAreWritten) {
  TestFolder folder;
  auto database = openDatabase(folder.file("a")), copy = openDatabase(folder.file("b"));
  expectSuccess(database->insert(someEntries()));
  std::string text = exported(*database);
  EXPECT_EQ(llvm::StringRef(text).count('\n'), 1u + 2 + 3);
  EXPECT_EQ(expectValue(importLines(*copy, text, "x")), 3);
  EXPECT_EQ(allEntries(*copy), allEntries(*database));
  EXPECT_EQ(exported(*copy), text);
  EXPECT_EQ(expectValue(importLines(*copy, text, "x")), 3);
  EXPECT_EQ(exported(*copy), text);
}

TEST(EntryLines, MergingGivesTheSameInBothOrders) {
  TestFolder folder;
  auto a = openDatabase(folder.file("a")), b = openDatabase(folder.file("b"));
  std::vector<Entry> entries = someEntries();
  expectSuccess(a->insert(entries));
  entries[0] = measured(entries[0], 77);
  entries[1].nanoseconds += 1; // with as many samples, at the same time
  entries[2] = makeEntry("c", 9);
  expectSuccess(b->insert(entries));
  auto merged = [&](const char *name, ScheduleDatabase &first, ScheduleDatabase &second) {
    auto into = openDatabase(folder.file(name));
    EXPECT_EQ(expectValue(mergeFrom(*into, first)), 3);
    EXPECT_EQ(expectValue(mergeFrom(*into, second)), 3);
    return exported(*into);
  };
  std::string text = merged("ab", *a, *b);
  EXPECT_EQ(merged("ba", *b, *a), text);
  EXPECT_EQ(llvm::StringRef(text).count("\"found\""), 4u);
  EXPECT_EQ(expectValue(mergeFrom(*a, *a)), 3);
}

TEST(EntryLines, WrongLinesAreNamedAndNothingIsTaken) {
  TestFolder folder;
  auto database = openDatabase(folder.file("a")), empty = openDatabase(folder.file("b"));
  expectSuccess(database->insert(makeEntry("a", 1)));
  std::string text = exported(*database);
  auto refused = [&](const std::string &text) {
    Told why = told(importLines(*empty, text, "f"));
    EXPECT_EQ(why.code, 1016u) << text;
    EXPECT_TRUE(allEntries(*empty).empty());
    return why.message;
  };
  auto changed = [&](llvm::StringRef from, llvm::StringRef to) {
    size_t at = text.find(from.str());
    EXPECT_NE(at, std::string::npos) << from.str();
    return refused(text.substr(0, at) + to.str() + text.substr(at + from.size()));
  };
  auto starts = [](llvm::StringRef message, llvm::StringRef start) {
    EXPECT_TRUE(message.starts_with(start)) << message.str();
  };
  starts(refused(""), "'f' does not begin with");
  starts(refused("[]\n"), "line 1 of 'f' is not an object");
  starts(refused("{}\n"), "'f' does not begin with");
  starts(changed("schedules\":1", "schedules\":2"), "'f' has version 2");
  starts(refused(text + "{\"kernel\"\n"), "line 4 of 'f' is not JSON");
  starts(refused(text + "{}\n"), "line 4 of 'f': 'kernel' is missing or not text");
  starts(refused(text.substr(0, text.size() / 2)), "line 3 of 'f' is not JSON");
  starts(changed("\"text\":\"a\"", "\"text\":\"b\""), "line 2 of 'f'");
  starts(changed("\"tile_m\":1", "\"tile_m\":33"), "line 3 of 'f': tile_m = 33 is outside [1, 32]");
  starts(changed("\"tile_m\":1", "\"tile_q\":1"), "line 3 of 'f': class 'contract' has no knob 'tile_q'");
  starts(changed("\"tile_m\":1", "\"tile_m\":1.5"), "line 3 of 'f': 'tile_m' is missing or not a whole number");
  starts(changed("\"class\":\"contract\"", "\"class\":\"x\""), "line 3 of 'f': there is no class of kernels 'x'");
  starts(changed("\"fp\":\"fast\"", "\"fp\":\"sloppy\""), "line 3 of 'f': 'fp' is 'sloppy'");
  starts(changed("\"found\":\"static\"", "\"found\":\"lost\""), "line 3 of 'f': 'found' is 'lost'");
  starts(changed("\"threads\":16", "\"threads\":[]"), "line 3 of 'f': 'threads' is missing or not a whole number");
  starts(changed("\"sizes\":[1,", "\"sizes\":[\"1\","), "line 3 of 'f': 'sizes' is missing or not a list of whole");
  starts(changed("\"cycles\":1000", "\"cycles\":1e999"), "line 3 of 'f'");
  // Whatever stands before them, and whatever seems to end the text around them.
  for (const char *start : {"", "\"\\\\\",", "\"]]]]\\\"]\","})
    starts(refused(text + "[" + start + std::string(1 << 20, '[') + "\n"), "line 4 of 'f' nests too deeply");
}

} // namespace
