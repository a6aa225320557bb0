// Parses addresses. They become words of a command line and of a shell's, so only plain characters are taken.
#include "compiler/tune/measure/MachineAddress.h"

#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

namespace fathom::tune {

static bool isPlain(StringRef text, StringRef others) {
  return !text.starts_with("-") && llvm::all_of(text, [&](char c) { return llvm::isAlnum(c) || others.contains(c); });
}

llvm::Expected<MachineAddress> parseMachineAddress(StringRef text) {
  auto wrong = [&](const llvm::Twine &why) {
    return llvm::createStringError("'" + text + "' is no machine's address: " + why);
  };
  MachineAddress address;
  address.spelling = text.str();
  StringRef rest = text;
  if (!rest.consume_front("ssh://"))
    return wrong("it is written ssh://[USER@]HOST[:PORT][/FOLDER]");
  auto [machine, folder] = rest.split('/');
  if (machine.size() < rest.size() && !folder.empty())
    address.folder = ("/" + folder.rtrim('/')).str();
  if (machine.contains('@')) {
    auto [user, host] = machine.rsplit('@');
    address.user = user.str();
    machine = host;
    if (user.empty() || !isPlain(user, "._-"))
      return wrong("the user's name is not one");
  }
  // An address of IPv6 stands in brackets, as it has colons itself.
  StringRef host = machine, port;
  if (host.consume_front("[")) {
    size_t end = std::min(host.find(']'), host.size());
    port = host.drop_front(end);
    host = host.take_front(end);
    if (!port.consume_front("]") || (!port.empty() && !port.starts_with(":")))
      return wrong("a number in brackets may be followed by a port");
  } else if (host.contains(':')) {
    port = host.drop_front(host.find(':'));
    host = host.drop_back(port.size());
  }
  if (port.consume_front(":") && (port.getAsInteger(10, address.port) || !address.port || address.port > 65535))
    return wrong("the port is a number from 1 to 65535");
  if (host.empty() || !isPlain(host, machine.starts_with("[") ? ".:%_-" : "._-"))
    return wrong("it names no host");
  if (!isPlain(address.folder, "/._-+=@"))
    return wrong("the folder's name may have letters, digits and ._-+=@");
  address.host = host.str();
  return address;
}

} // namespace fathom::tune
