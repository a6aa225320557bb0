// A program beside this one that is talked to in lines, is never waited for without end and ends with this object.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <sys/types.h>

namespace fathom::tune {

// How talking went. Silent: nothing moved for as long as was allowed. Cancelled: the work of this thread is to stop.
enum class Talk { Done, Ended, Silent, Cancelled };

class ChildProcess {
public:
  // The first word is the program, a path or a name that PATH finds.
  static llvm::Expected<ChildProcess> start(llvm::ArrayRef<std::string> words);
  ChildProcess(ChildProcess &&other);
  ChildProcess &operator=(ChildProcess &&other);
  // Ends it and what it started.
  ~ChildProcess();

  Talk write(llvm::StringRef bytes, double silentSeconds);
  void closeInput();
  // A line of its output, without its end.
  Talk readLine(std::string &line, double silentSeconds);
  // Its exit code, when its output has ended; 128 and a signal's number where one ended it.
  int wait();
  // The last lines that it wrote to stderr.
  std::string complaint() const;
  pid_t id() const { return process; }

private:
  ChildProcess() = default;
  Talk waitFor(short events, double silentSeconds) const;

  pid_t process = -1;
  int talk = -1, errors = -1;
  std::string buffered;
};

} // namespace fathom::tune
