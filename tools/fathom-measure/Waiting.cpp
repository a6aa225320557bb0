// Linux's statistics of a thread's scheduling: time on a CPU, time of waiting for one, and how often.
#include "tools/fathom-measure/Waiting.h"

#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace fathom::measure {

Waiting::Waiting() : file(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}

Waiting::~Waiting() {
  if (file >= 0)
    close(file);
}

int64_t Waiting::sum() const {
  char text[96];
  ssize_t count = file >= 0 ? pread(file, text, sizeof text - 1, 0) : 0;
  if (count <= 0)
    return 0;
  text[count] = 0;
  char *end;
  strtoll(text, &end, 10);
  return strtoll(end, nullptr, 10);
}

} // namespace fathom::measure
