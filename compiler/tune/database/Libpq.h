// PostgreSQL's client library. It is loaded where it is needed: a fathom without it starts sooner, and runs where it is
// not installed.
#pragma once

#include "llvm/Support/Error.h"
#include <postgresql/libpq-fe.h>

namespace fathom::tune {

// What we call of it.
#define FATHOM_LIBPQ(X)                                                                                                \
  X(PQclear)                                                                                                           \
  X(PQconninfoFree)                                                                                                    \
  X(PQconninfoParse)                                                                                                   \
  X(PQconnectdbParams)                                                                                                 \
  X(PQconsumeInput)                                                                                                    \
  X(PQerrorMessage)                                                                                                    \
  X(PQfinish)                                                                                                          \
  X(PQfreemem)                                                                                                         \
  X(PQgetlength)                                                                                                       \
  X(PQgetResult)                                                                                                       \
  X(PQgetvalue)                                                                                                        \
  X(PQisBusy)                                                                                                          \
  X(PQresultErrorField)                                                                                                \
  X(PQresultStatus)                                                                                                    \
  X(PQsendQueryParams)                                                                                                 \
  X(PQsetNoticeProcessor)                                                                                              \
  X(PQsetSingleRowMode)                                                                                                \
  X(PQsocket)                                                                                                          \
  X(PQstatus)

struct Libpq {
#define FATHOM_LIBPQ_FUNCTION(name) decltype(&::name) name;
  FATHOM_LIBPQ(FATHOM_LIBPQ_FUNCTION)
#undef FATHOM_LIBPQ_FUNCTION
};

// Loads it once; why it cannot be had is the loader's message.
llvm::Expected<const Libpq &> loadLibpq();

} // namespace fathom::tune
