// What is measured together: a group of kernels that compute the same, and how; read from lines of words.
// docs/dev/rooms/tune.md has the protocol.
#pragma once

#include "tools/fathom-measure/Data.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fathom::measure {

// What a kernel does with a buffer. A constant one holds weights, which a network's other kernels push out of the
// caches.
enum class Use { Read, Written, Both, Constant };

struct BufferKind {
  int64_t bytes;
  int32_t type; // FATHOM_ABI_
  Use use;

  bool isWritten() const { return use == Use::Written || use == Use::Both; }
  bool operator==(const BufferKind &other) const {
    return bytes == other.bytes && type == other.type && use == other.use;
  }
};

// A shared object in memory.
class ObjectFile {
public:
  explicit ObjectFile(int descriptor = -1) : descriptor(descriptor) {}
  ObjectFile(ObjectFile &&other) noexcept : descriptor(std::exchange(other.descriptor, -1)) {}
  ObjectFile &operator=(ObjectFile &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~ObjectFile();

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor); }

private:
  int descriptor;
};

struct Candidate {
  std::string symbol;
  int64_t tasks = 1, scratchBytes = 0;
  ObjectFile object;
  std::vector<BufferKind> buffers;
  std::vector<Panels> panels; // of each buffer
  std::vector<int64_t> symbols;
};

struct Group {
  int32_t threads = 1;
  bool cold = false;
  int64_t mostRuns = 1000;
  double seconds = 2;      // for all timed runs together
  double hangSeconds = 10; // of one run: it hangs
  double settled = 0.01;   // half the width of the median's confidence interval, as a share of the median
  double tolerance = -1;   // of results beside the first candidate's; negative: they are not compared
  std::vector<Candidate> candidates;
};

enum class Input { Group, End, Error };

// Reads the next group from stdin; Problem says what is wrong with it.
Input readGroup(Group &group, std::string &problem);

} // namespace fathom::measure
