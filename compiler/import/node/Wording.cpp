// What MLIR says of an op that breaks its definition, in the words of ONNX: inputs instead of operands, and none of our
// types.
#include "compiler/import/node/Wording.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Regex.h"

using namespace llvm;

namespace fathom::importer {

static StringRef kindOf(StringRef constraint) {
  return StringSwitch<StringRef>(constraint)
      .Case("32-bit float attribute", "a number")
      .Case("64-bit integer attribute", "an integer")
      .Case("i64 dense array attribute", "a list of integers")
      .Case("string attribute", "a string")
      .Case("constant vector/tensor attribute", "a tensor")
      .Default("of another type");
}

std::string inOnnxWords(StringRef message, StringRef op) {
  message.consume_front(("'graph." + op + "' op ").str());
  SmallVector<StringRef> found;
  if (Regex("^operand #([0-9]+) must be .*, but got 'none'$").match(message, &found))
    return ("input " + found[1] + " of " + op + " is missing").str();
  if (Regex("^operand #([0-9]+) must be none type").match(message, &found))
    return ("input " + found[1] + " of " + op + " must be left out").str();
  if (Regex("^operand #([0-9]+) must be ").match(message, &found))
    return ("input " + found[1] + " of " + op + " has an element type or a size that is not supported").str();
  if (Regex("^(attribute '.*') failed to satisfy constraint: (.*)$").match(message, &found))
    return (found[1] + " of " + op + " must be " + kindOf(found[2])).str();
  if (Regex("requires (attribute '.*')$").match(message, &found))
    return (op + " lacks the " + found[1]).str();
  if (Regex("operand").match(message))
    return (op + " has too few or too many inputs").str();
  return message.str();
}

} // namespace fathom::importer
