// Finds PostgreSQL's client library, and the functions in it.
#include "compiler/tune/database/Libpq.h"

#include <dlfcn.h>

using namespace llvm;

namespace fathom::tune {

Expected<const Libpq &> loadLibpq() {
  static Libpq functions;
  static const std::string problem = []() -> std::string {
    // For tests of what is said where there is none.
    const char *named = getenv("FATHOM_LIBPQ");
    void *library = dlopen(named ? named : "libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return dlerror();
#define FATHOM_LIBPQ_FIND(name)                                                                                        \
  functions.name = reinterpret_cast<decltype(functions.name)>(dlsym(library, #name));                                  \
  if (!functions.name)                                                                                                 \
    return dlerror();
    FATHOM_LIBPQ(FATHOM_LIBPQ_FIND)
#undef FATHOM_LIBPQ_FIND
    return "";
  }();
  if (!problem.empty())
    return createStringError(problem);
  return functions;
}

} // namespace fathom::tune
