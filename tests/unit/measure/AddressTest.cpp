// Tests of how addresses of machines are read.
#include "compiler/tune/measure/MachineAddress.h"

#include "gtest/gtest.h"

using namespace fathom;
using namespace fathom::tune;

namespace {

TEST(MachineAddress, HasAUserHostPortAndFolder) {
  auto address = parseMachineAddress("ssh://me@board.local:2222/var/tmp/");
  ASSERT_TRUE(bool(address));
  EXPECT_EQ(address->user, "me");
  EXPECT_EQ(address->host, "board.local");
  EXPECT_EQ(address->port, 2222u);
  EXPECT_EQ(address->folder, "/var/tmp");
  EXPECT_EQ(address->spelling, "ssh://me@board.local:2222/var/tmp/");
  EXPECT_FALSE(address->isHere());
  EXPECT_TRUE(MachineAddress().isHere());
}

TEST(MachineAddress, LeavesTheRestToOpenSsh) {
  for (const char *text : {"ssh://board", "ssh://board/"}) {
    auto address = parseMachineAddress(text);
    ASSERT_TRUE(bool(address));
    EXPECT_EQ(address->user, "");
    EXPECT_EQ(address->host, "board");
    EXPECT_EQ(address->port, 0u);
    EXPECT_EQ(address->folder, "/tmp");
  }
}

TEST(MachineAddress, MayBeANumber) {
  auto address = parseMachineAddress("ssh://[fe80::1%eth0]:22/x");
  ASSERT_TRUE(bool(address));
  EXPECT_EQ(address->host, "fe80::1%eth0");
  EXPECT_EQ(address->port, 22u);
  EXPECT_EQ(address->folder, "/x");
}

TEST(MachineAddress, IsNoWordOfACommand) {
  for (auto [text, why] : std::initializer_list<std::pair<const char *, const char *>>{
           {"", "it is written ssh://[USER@]HOST[:PORT][/FOLDER]"},
           {"board", "it is written ssh://[USER@]HOST[:PORT][/FOLDER]"},
           {"http://board", "it is written ssh://[USER@]HOST[:PORT][/FOLDER]"},
           {"ssh://", "it names no host"},
           {"ssh:///tmp", "it names no host"},
           {"ssh://-oProxyCommand=x", "it names no host"},
           {"ssh://a b", "it names no host"},
           {"ssh://[::1", "a number in brackets may be followed by a port"},
           {"ssh://@board", "the user's name is not one"},
           {"ssh://-l@board", "the user's name is not one"},
           {"ssh://board:", "the port is a number from 1 to 65535"},
           {"ssh://board:0", "the port is a number from 1 to 65535"},
           {"ssh://board:65536", "the port is a number from 1 to 65535"},
           {"ssh://board:x", "the port is a number from 1 to 65535"},
           {"ssh://[::1]22", "a number in brackets may be followed by a port"},
           {"ssh://board/a'b", "the folder's name may have letters, digits and ._-+=@"},
           {"ssh://board/$(x)", "the folder's name may have letters, digits and ._-+=@"}}) {
    auto address = parseMachineAddress(text);
    ASSERT_FALSE(bool(address)) << text;
    EXPECT_EQ(llvm::toString(address.takeError()), "'" + std::string(text) + "' is no machine's address: " + why);
  }
}

} // namespace
