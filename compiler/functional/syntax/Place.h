// Where something stands in the text of a program, and errors that say so.
#pragma once

#include "compiler/support/Diagnostics.h"
#include "mlir/IR/Location.h"

namespace fathom::functional {

// Counted from 1; line 0 is no place.
struct Place {
  unsigned line = 0, column = 0;
  explicit operator bool() const { return line != 0; }
  bool operator==(const Place &) const = default;
  std::string text() const { return std::to_string(line) + ":" + std::to_string(column); }
};

// The program that messages are about.
struct Source {
  mlir::Location loc; // its name
  std::string name;

  mlir::InFlightDiagnostic error(Place place, ErrorCode code) const {
    return emitError(loc, code) << name << ":" << place.text() << ": ";
  }
};

} // namespace fathom::functional
