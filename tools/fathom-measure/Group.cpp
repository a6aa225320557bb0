// Reads groups: a line for each word of a description, and the bytes of objects behind their lines.
#include "tools/fathom-measure/Group.h"

#include "runtime/CpuCount.h"
#include "runtime/fathom_rt.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace fathom::measure {
namespace {

constexpr int64_t mostBytes = int64_t(1) << 40; // of a buffer: nothing overflows, and the system says what it has

class Reader {
public:
  // The next line's words; false at the end.
  bool next() {
    char *line = nullptr;
    size_t capacity = 0;
    ssize_t length = getline(&line, &capacity, stdin);
    words.clear();
    if (length > 0)
      for (char *rest = line, *word; (word = strsep(&rest, " \n"));)
        if (*word)
          words.push_back(word);
    free(line);
    at = 0;
    return length > 0;
  }

  std::string word() { return at < words.size() ? words[at++] : (failed = true, ""); }
  int64_t integer(int64_t least, int64_t most) {
    std::string text = word();
    char *end = nullptr;
    long long value = strtoll(text.c_str(), &end, 10);
    failed |= text.empty() || *end || value < least || value > most;
    return value;
  }
  double number() {
    std::string text = word();
    char *end = nullptr;
    double value = strtod(text.c_str(), &end);
    failed |= text.empty() || *end || !(value >= 0);
    return value;
  }
  bool isWhole() const { return !failed && at == words.size(); }
  std::string line() const {
    std::string text;
    for (const std::string &word : words)
      text += (text.empty() ? "" : " ") + word;
    return text;
  }
  void fail() { failed = true; }
  bool hasFailed() const { return failed; }

private:
  std::vector<std::string> words;
  size_t at = 0;
  bool failed = false;
};

int32_t typeOf(const std::string &name) {
  for (int32_t number = 1; number < 64; ++number)
    if (name == fathom_dtype_name(number))
      return number;
  return 0;
}

bool parseUse(const std::string &name, Use &use) {
  constexpr std::pair<const char *, Use> names[] = {
      {"read", Use::Read}, {"written", Use::Written}, {"both", Use::Both}, {"constant", Use::Constant}};
  for (auto [known, value] : names)
    if (name == known)
      return use = value, true;
  return false;
}

ObjectFile readObject(Reader &reader, int64_t bytes) {
  int descriptor = memfd_create("kernel", MFD_CLOEXEC);
  std::vector<char> piece(size_t(1) << 16);
  while (descriptor >= 0 && bytes > 0) {
    size_t count = fread(piece.data(), 1, size_t(std::min<int64_t>(bytes, int64_t(piece.size()))), stdin);
    if (!count || write(descriptor, piece.data(), count) != ssize_t(count))
      break;
    bytes -= int64_t(count);
  }
  if (descriptor < 0 || bytes)
    reader.fail();
  return ObjectFile(descriptor);
}

// All elements lie in the buffer, each in a place of its own only if who asks is right.
void readPanels(Reader &reader, const BufferKind &buffer, Panels &panels) {
  constexpr int64_t mostDims = 64;
  panels.offset = reader.integer(0, mostBytes);
  panels.blockedDim = reader.integer(-1, mostDims - 1);
  panels.block = reader.integer(0, mostBytes);
  panels.blockStride = reader.integer(0, mostBytes);
  int64_t rank = reader.integer(1, mostDims), elements = buffer.bytes / fathom_dtype_bytes(buffer.type), count = 1;
  while (!reader.hasFailed() && int64_t(panels.dims.size()) < rank) {
    int64_t size = reader.integer(1, mostBytes), stride = reader.integer(0, mostBytes);
    panels.dims.emplace_back(size, stride);
    if (reader.hasFailed() || count > elements / size)
      return reader.fail();
    count *= size;
  }
  if (panels.blockedDim >= rank || (panels.blockedDim >= 0 && !panels.block) || panels.extent() > double(elements))
    reader.fail();
}

// A line about the group or its last candidate.
void readLine(Reader &reader, Group &group) {
  std::string what = reader.word();
  Candidate *candidate = group.candidates.empty() ? nullptr : &group.candidates.back();
  if (what == "threads") {
    int32_t count = int32_t(reader.integer(0, MaxThreads));
    group.threads = count ? count : availableCpus();
  } else if (what == "cold")
    group.cold = true;
  else if (what == "runs")
    group.mostRuns = reader.integer(1, INT32_MAX);
  else if (what == "seconds")
    group.seconds = reader.number();
  else if (what == "hang")
    group.hangSeconds = reader.number();
  else if (what == "settled")
    group.settled = reader.number();
  else if (what == "compare")
    group.tolerance = reader.number();
  else if (what == "kernel") {
    Candidate &added = group.candidates.emplace_back();
    added.symbol = reader.word();
    added.tasks = reader.integer(1, INT64_MAX);
    added.scratchBytes = reader.integer(0, mostBytes);
  } else if (what == "object" && candidate)
    candidate->object = readObject(reader, reader.integer(0, mostBytes));
  else if (what == "buffer" && candidate) {
    BufferKind buffer{reader.integer(0, mostBytes), typeOf(reader.word()), Use::Read};
    if (!parseUse(reader.word(), buffer.use) || !buffer.type)
      reader.fail();
    candidate->buffers.push_back(buffer);
    candidate->panels.emplace_back();
  } else if (what == "panels" && candidate && !candidate->buffers.empty() && candidate->buffers.back().type)
    readPanels(reader, candidate->buffers.back(), candidate->panels.back());
  else if (what == "symbol" && candidate)
    candidate->symbols.push_back(reader.integer(INT64_MIN, INT64_MAX));
  else
    reader.fail();
}

} // namespace

ObjectFile::~ObjectFile() {
  if (descriptor >= 0)
    close(descriptor);
}

Input readGroup(Group &group, std::string &problem) {
  Reader reader;
  if (!reader.next())
    return Input::End;
  problem = "not a group: '" + reader.line() + "'";
  if (reader.word() != "group" || !reader.isWhole())
    return Input::Error;
  while (reader.next()) {
    if (reader.line() == "measure")
      return Input::Group;
    readLine(reader, group);
    if (!reader.isWhole()) {
      problem = "not understood: '" + reader.line() + "'";
      return Input::Error;
    }
  }
  problem = "the group has no end";
  return Input::Error;
}

} // namespace fathom::measure
