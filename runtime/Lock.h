// Mutexes and conditions that wait until a time of the monotonic clock, over POSIX threads; and threads without
// signals.
#ifndef FATHOM_RUNTIME_LOCK_H
#define FATHOM_RUNTIME_LOCK_H

#include <csignal>
#include <cstdint>
#include <ctime>
#include <pthread.h>

namespace fathom {

class Mutex {
public:
  Mutex() = default;
  Mutex(const Mutex &) = delete;
  Mutex &operator=(const Mutex &) = delete;
  ~Mutex() { pthread_mutex_destroy(&Handle); }
  void lock() { pthread_mutex_lock(&Handle); }
  void unlock() { pthread_mutex_unlock(&Handle); }

private:
  friend class Condition;
  pthread_mutex_t Handle = PTHREAD_MUTEX_INITIALIZER;
};

class Guard {
public:
  explicit Guard(Mutex &M) : Held(M) { Held.lock(); }
  Guard(const Guard &) = delete;
  Guard &operator=(const Guard &) = delete;
  ~Guard() { Held.unlock(); }

private:
  Mutex &Held;
};

class Condition {
public:
  Condition() {
    pthread_condattr_t Attributes;
    pthread_condattr_init(&Attributes);
    pthread_condattr_setclock(&Attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&Handle, &Attributes);
    pthread_condattr_destroy(&Attributes);
  }
  Condition(const Condition &) = delete;
  Condition &operator=(const Condition &) = delete;
  ~Condition() { pthread_cond_destroy(&Handle); }

  // Both return now and then for no reason.
  void wait(Mutex &Held) { pthread_cond_wait(&Handle, &Held.Handle); }
  void waitUntil(Mutex &Held, int64_t Ns) {
    timespec Time = {time_t(Ns / 1000000000), long(Ns % 1000000000)};
    pthread_cond_timedwait(&Handle, &Held.Handle, &Time);
  }
  void signal() { pthread_cond_signal(&Handle); }
  void broadcast() { pthread_cond_broadcast(&Handle); }

private:
  pthread_cond_t Handle;
};

// Signals are the program's business, and its own threads shall get them: threads that are started while this is there
// get none.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t All;
    sigfillset(&All);
    pthread_sigmask(SIG_SETMASK, &All, &Before);
  }
  SignalsBlocked(const SignalsBlocked &) = delete;
  SignalsBlocked &operator=(const SignalsBlocked &) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &Before, nullptr); }

private:
  sigset_t Before;
};

} // namespace fathom

#endif
