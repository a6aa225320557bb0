// How long this thread was ready to run while something else had its CPU: on a busy machine, what a time has too much.
#pragma once

#include <cstdint>

namespace fathom::measure {

class Waiting {
public:
  // For the calling thread, which is the one that asks.
  Waiting();
  Waiting(const Waiting &) = delete;
  Waiting &operator=(const Waiting &) = delete;
  ~Waiting();

  // Nanoseconds so far; always 0 where the system does not tell.
  int64_t sum() const;

private:
  int file;
};

} // namespace fathom::measure
