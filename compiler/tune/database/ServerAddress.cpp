// What an address of a server tells, and what it must not tell everybody.
#include "compiler/tune/database/ServerAddress.h"

using namespace llvm;

namespace fathom::tune {

bool isServerAddress(StringRef name) { return name.starts_with("postgresql:") || name.starts_with("postgres:"); }

std::string withoutPassword(StringRef address) {
  auto [base, query] = address.split('?');
  std::string shown = base.str();
  // The last @, as a password that nobody has encoded may have one.
  size_t user = base.find("://"), at = base.rfind('@');
  if (user != StringRef::npos && at != StringRef::npos) {
    size_t colon = base.find(':', user + 3);
    if (colon < at)
      shown = (base.take_front(colon + 1) + "***" + base.substr(at)).str();
  }
  char separator = '?';
  while (!query.empty()) {
    StringRef part;
    std::tie(part, query) = query.split('&');
    StringRef key = part.split('=').first;
    bool isSecret = key.contains_insensitive("pass");
    shown += separator + (isSecret ? key.str() + "=***" : part.str());
    separator = '&';
  }
  return shown;
}

} // namespace fathom::tune
