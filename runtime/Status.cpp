// Statuses, a code and a message in one allocation, and the library's version.
#include "Status.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

struct fathom_status {
  fathom_code Code;
  const char *Message;
  char *Node; // of its own allocation, or null
};

namespace {
// What is left to say when there is no memory for a message; it is never freed.
fathom_status NoMemory = {FATHOM_ERROR_MEMORY, "out of memory", nullptr};
} // namespace

fathom_status *fathom::makeStatus(fathom_code Code, const char *Format, ...) {
  va_list Args, Again;
  va_start(Args, Format);
  va_copy(Again, Args);
  int Length = vsnprintf(nullptr, 0, Format, Args);
  va_end(Args);
  auto *Status =
      Length < 0 ? nullptr : static_cast<fathom_status *>(malloc(sizeof(fathom_status) + size_t(Length) + 1));
  if (Status) {
    char *Text = reinterpret_cast<char *>(Status + 1);
    vsnprintf(Text, size_t(Length) + 1, Format, Again);
    *Status = {Code, Text, nullptr};
  }
  va_end(Again);
  return Status ? Status : &NoMemory;
}

fathom_status *fathom::withNode(fathom_status *Status, const char *Node, size_t Length) {
  if (Status != &NoMemory)
    Status->Node = strndup(Node, Length);
  return Status;
}

fathom_status *fathom::copyStatus(const fathom_status *Status) {
  if (!Status)
    return nullptr;
  const char *Node = fathom_status_node(Status);
  fathom_status *Copy = makeStatus(Status->Code, "%s", Status->Message);
  return *Node ? withNode(Copy, Node, strlen(Node)) : Copy;
}

fathom_status *fathom::isNull(const char *Function, const char *Argument) {
  return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "%s: %s is null", Function, Argument);
}

fathom_status *fathom::outOfMemory(const char *What, size_t Bytes) {
  return makeStatus(FATHOM_ERROR_MEMORY, "no memory for %s (%zu bytes)", What, Bytes);
}

int32_t fathom_code_number(int32_t code) {
  switch (code) {
  case FATHOM_OK:
    return 0;
  case FATHOM_ERROR_FILE:
    return 1001;
  case FATHOM_ERROR_FORMAT:
    return 1011;
  case FATHOM_ERROR_INVALID_ARGUMENT:
  case FATHOM_ERROR_SHAPE:
  case FATHOM_ERROR_INDEX:
    return 1012;
  case FATHOM_ERROR_UNSUPPORTED_CPU:
  case FATHOM_ERROR_MEMORY:
  case FATHOM_ERROR_INTERRUPTED:
  case FATHOM_ERROR_DEVICE:
    return 5001;
  case FATHOM_ERROR_BUSY:
    return 5002;
  case FATHOM_ERROR_DEADLINE:
    return 5003;
  case FATHOM_ERROR_CANCELLED:
    return 5004;
  case FATHOM_ERROR_INTERNAL:
    break;
  }
  return 7001;
}

fathom_code fathom_status_code(const fathom_status *status) { return status ? status->Code : FATHOM_OK; }

const char *fathom_status_message(const fathom_status *status) { return status ? status->Message : ""; }

const char *fathom_status_node(const fathom_status *status) { return status && status->Node ? status->Node : ""; }

void fathom_status_free(fathom_status *status) {
  if (!status || status == &NoMemory)
    return;
  free(status->Node);
  free(status);
}

const char *fathom_version(void) { return FATHOM_RT_VERSION; }
