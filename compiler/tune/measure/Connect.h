// Starts the program that measures, here or on the machine where it is to measure.
#pragma once

#include "compiler/tune/measure/ChildProcess.h"
#include "compiler/tune/measure/MachineAddress.h"
#include <optional>

namespace fathom::tune {

struct MeasurerOptions {
  MachineAddress machine;
  // Where fathom-measure and, for other architectures, fathom-measure-ARCHITECTURE are; empty: beside this program.
  std::string programFolder;
  // OpenSSH's program or one that calls it; empty: what FATHOM_SSH names, or ssh.
  std::string ssh;
  // How long a machine may give no sign of life.
  double silentSeconds = 60;
};

// Why a machine cannot be measured on, and what to do about it.
struct ConnectProblem {
  std::string message, hint;
};

// The program, ready for groups. It is copied to a machine that is not this one, and removed there when it ends.
std::optional<ChildProcess> connect(const MeasurerOptions &options, ConnectProblem &problem);

} // namespace fathom::tune
