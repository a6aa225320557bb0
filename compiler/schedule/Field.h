// The fields of a schedule: what a family of kernels can be told, each declared once. Their names, ranges and meanings
// are the knobs that users see; text, checks and documentation follow from them.
#pragma once

#include "compiler/schedule/Schedule.h"
#include "llvm/ADT/ArrayRef.h"

namespace fathom {

constexpr int64_t mostPerTask = 1 << 30; // elements, rows, panels or whatever tasks count

// The version of plans. A knob that an older version lacks has its member's initial value there, which must be what was
// done before.
constexpr int planVersion = 3;

struct Knob {
  llvm::StringLiteral name;
  int64_t min, max;
  llvm::StringLiteral meaning;
  int since = 1; // the first version of plans that has it
  // The knob whose value this one's is a multiple of; empty: none.
  llvm::StringLiteral unit = "";
};

// A field of the schedule type S, which has a table of all of them: S::fields().
template <typename S> struct Field : Knob {
  constexpr Field(llvm::StringLiteral name, int64_t S::*number, int64_t min, int64_t max, llvm::StringLiteral meaning,
                  int since = 1)
      : Knob{name, min, max, meaning, since, ""}, number(number) {}
  constexpr Field(llvm::StringLiteral name, bool S::*flag, llvm::StringLiteral meaning, int since = 1)
      : Knob{name, 0, 1, meaning, since, ""}, flag(flag) {}

  constexpr Field inUnitsOf(llvm::StringLiteral other) const {
    Field field = *this;
    field.unit = other;
    return field;
  }

  int64_t get(const S &schedule) const { return number ? schedule.*number : int64_t(schedule.*flag); }
  void set(S &schedule, int64_t value) const {
    if (number)
      schedule.*number = value;
    else
      schedule.*flag = value != 0;
  }

private:
  int64_t S::*number = nullptr;
  bool S::*flag = nullptr;
};

// A schedule by the names of its fields, and back.
template <typename S> Schedule named(const S &schedule) {
  Schedule result;
  for (const Field<S> &field : S::fields())
    result.knobs.emplace_back(field.name.str(), field.get(schedule));
  return result;
}

template <typename S> S typed(const Schedule &schedule) {
  S result;
  for (const Field<S> &field : S::fields())
    field.set(result, schedule.value(field.name));
  return result;
}

// A schedule, and what it is with any of these members at 0.
template <typename S, typename Body> void withAndWithout(const S &schedule, const Body &body) { body(schedule); }
template <typename S, typename Body, typename Member, typename... Members>
void withAndWithout(const S &schedule, const Body &body, Member member, Members... others) {
  withAndWithout(schedule, body, others...);
  if (!(schedule.*member))
    return;
  S without = schedule;
  without.*member = {};
  withAndWithout(without, body, others...);
}

} // namespace fathom
