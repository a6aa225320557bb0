// Strings by number: those that a model knows, and those that a run's inputs add to them.
#ifndef FATHOM_RUNTIME_STRINGS_H
#define FATHOM_RUNTIME_STRINGS_H

#include "Memory.h"
#include "fathom_rt.h"

namespace fathom {

// Numbers texts in the order in which they come; the texts stay where they are.
class StringNumbers {
public:
  // The text's number, or -1.
  int64_t find(fathom_string Text) const;
  // The number of a text that is not there yet, or -1 when there is no memory.
  [[nodiscard]] int64_t add(fathom_string Text);
  void clear();

  size_t size() const { return Texts.size(); }
  const fathom_string &operator[](size_t Number) const { return Texts[Number]; }

private:
  size_t slotOf(fathom_string Text) const;
  [[nodiscard]] bool grow();

  Array<fathom_string> Texts;
  Array<uint32_t> Slots; // a text's number and 1, by its hash; a power of two
};

} // namespace fathom

#endif
