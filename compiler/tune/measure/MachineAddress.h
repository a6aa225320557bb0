// Where kernels are measured: on this machine, or on one that OpenSSH reaches.
#pragma once

#include "llvm/Support/Error.h"
#include <string>

namespace fathom::tune {

struct MachineAddress {
  std::string user, host; // no host: this machine
  unsigned port = 0;      // 0: what OpenSSH's configuration says
  std::string folder = "/tmp";
  std::string spelling = "this machine";

  bool isHere() const { return host.empty(); }
};

// "ssh://[USER@]HOST[:PORT][/FOLDER]". The host may be a name of the user's configuration of OpenSSH.
llvm::Expected<MachineAddress> parseMachineAddress(llvm::StringRef text);

} // namespace fathom::tune
