// A hash table with open addressing, at most half full.
#include "Strings.h"

#include <algorithm>
#include <cstring>

using namespace fathom;

// FNV-1a.
static uint64_t hash(fathom_string Text) {
  uint64_t Hash = 0xcbf29ce484222325u;
  for (size_t I = 0; I < Text.size; ++I)
    Hash = (Hash ^ uint8_t(Text.data[I])) * 0x100000001b3u;
  return Hash ^ (Hash >> 32);
}

// Where the text is, or where it would be.
size_t StringNumbers::slotOf(fathom_string Text) const {
  size_t Mask = Slots.size() - 1;
  for (size_t Slot = size_t(hash(Text)) & Mask;; Slot = (Slot + 1) & Mask) {
    if (!Slots[Slot])
      return Slot;
    const fathom_string &Other = Texts[Slots[Slot] - 1];
    if (Other.size == Text.size && (!Text.size || !memcmp(Other.data, Text.data, Text.size)))
      return Slot;
  }
}

int64_t StringNumbers::find(fathom_string Text) const { return Slots.size() ? int64_t(Slots[slotOf(Text)]) - 1 : -1; }

bool StringNumbers::grow() {
  size_t Count = std::max<size_t>(64, 2 * Slots.size());
  Slots.reset();
  if (!Slots.allocate(Count))
    return false;
  for (size_t I = 0; I < Texts.size(); ++I)
    Slots[slotOf(Texts[I])] = uint32_t(I + 1);
  return true;
}

int64_t StringNumbers::add(fathom_string Text) {
  if (Texts.size() >= UINT32_MAX / 4 || (2 * (Texts.size() + 1) > Slots.size() && !grow()) || !Texts.push(Text))
    return -1;
  Slots[slotOf(Text)] = uint32_t(Texts.size());
  return int64_t(Texts.size()) - 1;
}

void StringNumbers::clear() {
  if (Texts.size() && Slots.size())
    memset(Slots.data(), 0, Slots.size() * sizeof(uint32_t));
  Texts.clear();
}
