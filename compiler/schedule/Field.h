// The fields of a schedule: what a family of kernels can be told, each declared once. Their names, ranges and meanings
// are the knobs that users see; text, checks and documentation follow from them.
#pragma once

#include "compiler/schedule/Schedule.h"
#include "llvm/ADT/ArrayRef.h"
#include <optional>

namespace fathom {

constexpr int64_t mostPerTask = 1 << 30; // elements, rows, panels or whatever tasks count

// The version of plans. A knob that an older version lacks has its member's initial value there, which must be what was
// done before.
constexpr int planVersion = 3;

// What a knob's value is a part of, so that it can be carried to another problem or machine; without any of these, it
// is a number.
struct Relation {
  llvm::StringLiteral extent = ""; // of the problem; empty: none
  bool isWholeOnly = false;        // only of values that are no less than the extent
  bool inVectors = false;          // where it is whole vectors
  int cache = 0;                   // the level of which it is a share, from 1 on; 0: none
  llvm::StringLiteral with = "";   // the knob that says how many elements one of it takes there
};

// Which tile a knob makes larger.
enum class Level {
  Form,      // which loops there are; none is larger than another
  Registers, // what is computed together
  Cache,     // what stays in the first-level cache
  Tasks,     // what a thread takes at a time, which stays in the second-level cache
  Manner,    // how, where all tiles are known: what is fetched or loaded ahead, where rows lie
};

struct Knob {
  llvm::StringLiteral name;
  int64_t min, max;
  llvm::StringLiteral meaning;
  int since = 1; // the first version of plans that has it
  // The knob whose value this one's is a multiple of; empty: none.
  llvm::StringLiteral unit = "";
  Relation relation = {};
  std::optional<Level> ownLevel = std::nullopt;

  // Its own where it states one, else by its name.
  Level level() const;
};

// A field of the schedule type S, which has a table of all of them: S::fields().
template <typename S> struct Field : Knob {
  constexpr Field(llvm::StringLiteral name, int64_t S::*number, int64_t min, int64_t max, llvm::StringLiteral meaning,
                  int since = 1)
      : Knob{name, min, max, meaning, since}, number(number) {}
  constexpr Field(llvm::StringLiteral name, bool S::*flag, llvm::StringLiteral meaning, int since = 1)
      : Knob{name, 0, 1, meaning, since}, flag(flag) {}

  constexpr Field at(Level level) const {
    Field field = *this;
    field.ownLevel = level;
    return field;
  }
  constexpr Field inUnitsOf(llvm::StringLiteral other) const {
    Field field = *this;
    field.unit = other;
    return field;
  }

  constexpr Field inVectors() const {
    Field field = *this;
    field.relation.inVectors = true;
    return field;
  }
  constexpr Field partOf(llvm::StringLiteral extent) const {
    Field field = *this;
    field.relation.extent = extent;
    return field;
  }
  // Of an extent, where it is no less.
  constexpr Field wholeOf(llvm::StringLiteral extent) const {
    Field field = partOf(extent);
    field.relation.isWholeOnly = true;
    return field;
  }
  // One of it takes as many elements as the other knob says.
  constexpr Field shareOfCache(int level, llvm::StringLiteral with) const {
    Field field = *this;
    field.relation.cache = level, field.relation.with = with;
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
