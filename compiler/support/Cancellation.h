// Stopping a compilation from another thread.
#pragma once

#include <atomic>

namespace fathom {

// Asked for by one thread, heeded by the one that works, at its next step that looks.
class Cancellation {
public:
  // Asks the work to stop. False: too late, the result appears at this moment.
  bool cancel() { return leave(State::Cancelled); }
  bool isCancelled() const { return state == State::Cancelled; }
  // The last step, behind which the result is there for others to see. False: it must not appear.
  bool commit() { return leave(State::Committed); }

  // Of the work that this thread does, or null. Threads that work for it are told by whom they work for.
  static Cancellation *current() { return slot(); }

  // Makes one the current one of this thread.
  class Scope {
  public:
    explicit Scope(Cancellation *cancellation) : before(slot()) { slot() = cancellation; }
    ~Scope() { slot() = before; }
    Scope(const Scope &) = delete;

  private:
    Cancellation *before;
  };

private:
  enum class State { Working, Cancelled, Committed };

  bool leave(State next) {
    State working = State::Working;
    return state.compare_exchange_strong(working, next) || working == next;
  }
  static Cancellation *&slot() {
    static thread_local Cancellation *cancellation = nullptr;
    return cancellation;
  }

  std::atomic<State> state = State::Working;
};

// Whether this thread's work is to stop.
inline bool isCancelled() {
  const Cancellation *current = Cancellation::current();
  return current && current->isCancelled();
}

} // namespace fathom
