// Tests of measuring through OpenSSH, against a server that they start on this machine with keys of its own; Debian's
// openssh-client and openssh-server, which ./dev test installs.
#include "Kernels.h"

#include "compiler/support/Cancellation.h"
#include <arpa/inet.h>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/socket.h>
#include <thread>

using namespace fathom;
using namespace fathom::tune;

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// A port that nobody listened at a moment ago.
int freePort() {
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bind(listener, reinterpret_cast<sockaddr *>(&address), size);
  getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size);
  close(listener);
  return ntohs(address.sin_port);
}

class Remote : public testing::Test {
protected:
  void SetUp() override {
    fs::create_directories(folder / "board");
    ASSERT_EQ(std::system(("cd " + folder.string() +
                           " && ssh-keygen -q -t ed25519 -N '' -f host && "
                           "ssh-keygen -q -t ed25519 -N '' -f key && cp key.pub authorized")
                              .c_str()),
              0);
    write("server", "Port " + std::to_string(port) + "\nListenAddress 127.0.0.1\nHostKey " + in("host") +
                        "\nAuthorizedKeysFile " + in("authorized") +
                        "\nPidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nPermitRootLogin yes\n");
    write("client", "IdentityFile " + in("key") + "\nIdentitiesOnly yes\nUserKnownHostsFile " + in("known") +
                        "\nStrictHostKeyChecking accept-new\nLogLevel ERROR\n");
    writeScript("ssh", "exec ssh -F " + in("client") + " \"$@\"");
    options = programHere();
    options.ssh = in("ssh");
    use("ssh://127.0.0.1:" + std::to_string(port) + in("board"));
  }
  void TearDown() override {
    server.reset();
    fs::remove_all(folder);
  }

  // Where it separates privileges, it does so in a folder that Debian's scripts make when they start it.
  void startServer() {
    if (geteuid() == 0)
      fs::create_directories("/run/sshd");
    auto child = ChildProcess::start({"/usr/sbin/sshd", "-D", "-e", "-f", in("server")});
    ASSERT_TRUE(bool(child)) << "openssh-server is missing; ./dev test installs it";
    server = std::move(*child);
    for (int tries = 0;
         tries < 500 &&
         std::system(("bash -c ': </dev/tcp/127.0.0.1/" + std::to_string(port) + "' 2>/dev/null").c_str());
         ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }

  void use(const std::string &address) { options.machine = llvm::cantFail(parseMachineAddress(address)); }
  std::string in(const std::string &name) const { return (folder / name).string(); }
  void write(const std::string &name, const std::string &text) const { std::ofstream(folder / name) << text; }
  void writeScript(const std::string &name, const std::string &text) const {
    write(name, "#!/bin/sh\n" + text + "\n");
    fs::permissions(folder / name, fs::perms::owner_all);
  }
  // Whether nothing is left on the machine, soon.
  bool isCleanSoon() const {
    for (int tries = 0; tries < 1000 && !fs::is_empty(folder / "board"); ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return fs::is_empty(folder / "board");
  }
  void expectProblem(const std::string &message, const std::string &tip) {
    Started started(options);
    EXPECT_FALSE(started.measurer);
    EXPECT_NE(started.said.find("[F5001] " + message), std::string::npos) << started.said;
    EXPECT_NE(started.said.find("\nhint: " + tip), std::string::npos) << started.said;
  }

  fs::path folder = fs::path(testing::TempDir()) / ("fathom-remote-" + std::to_string(getpid()));
  int port = freePort();
  std::optional<ChildProcess> server;
  MeasurerOptions options;
};

TEST_F(Remote, MeasuresAsHere) {
  startServer();
  {
    Started started(options);
    ASSERT_TRUE(started.measurer) << started.said << server->complaint();
    EXPECT_FALSE(fs::is_empty(folder / "board"));
    MeasureOptions how = quick();
    how.hangSeconds = 2;
    how.tolerance = 1e-4;
    auto results = started.measurer->measure(
        {kernelOf("copy"), kernelOf("crash"), kernelOf("wrong"), kernelOf("hang"), kernelOf("nobody")}, how);
    EXPECT_EQ(spell(results), (Words{"ok", "crashed", "wrong", "hung", "refused"}));
    EXPECT_EQ(started.measurer->starts(), 1);
  }
  EXPECT_TRUE(isCleanSoon());
}

TEST_F(Remote, ConnectsAgain) {
  startServer();
  Started started(options);
  ASSERT_TRUE(started.measurer) << started.said;
  auto results = started.measurer->measure({kernelOf("copy"), kernelOf("end_machine"), kernelOf("copy")}, quick());
  EXPECT_EQ(spell(results), (Words{"ok", "crashed", "ok"}));
  EXPECT_EQ(results[1].note, options.machine.spelling + " went away when it was run");
  EXPECT_EQ(started.measurer->starts(), 2);
  EXPECT_EQ(started.measurer->problem(), "");
}

TEST_F(Remote, GivesUpAMachineThatDied) {
  startServer();
  Started started(options);
  ASSERT_TRUE(started.measurer) << started.said;
  // Who is connected stays so, and nobody else gets in.
  kill(server->id(), SIGKILL);
  auto results = started.measurer->measure({kernelOf("copy"), kernelOf("end_machine"), kernelOf("copy")}, quick());
  EXPECT_EQ(spell(results), (Words{"lost", "crashed", "lost"}));
  std::string problem = "cannot reach '" + options.machine.spelling + "': ";
  EXPECT_TRUE(started.measurer->problem().starts_with(problem)) << started.measurer->problem().str();
  EXPECT_EQ(results[0].note, started.measurer->problem());
  // It is not tried again.
  EXPECT_EQ(spell(started.measurer->measure({kernelOf("copy")}, quick())), (Words{"lost"}));
  EXPECT_EQ(started.measurer->starts(), 2);
}

TEST_F(Remote, LeavesNothingWhenCancelled) {
  startServer();
  Started started(options);
  ASSERT_TRUE(started.measurer) << started.said;
  Cancellation cancellation;
  Cancellation::Scope scope(&cancellation);
  MeasureOptions how = quick();
  how.hangSeconds = 1000;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    cancellation.cancel();
  });
  EXPECT_EQ(spell(started.measurer->measure({kernelOf("hang")}, how)), (Words{"lost"}));
  other.join();
  EXPECT_TRUE(isCleanSoon());
}

TEST_F(Remote, NobodyListens) {
  std::string machine = "127.0.0.1:" + std::to_string(port);
  expectProblem("cannot reach '" + options.machine.spelling + "': ssh: connect to host 127.0.0.1 port " +
                    std::to_string(port) + ": Connection refused",
                "`ssh 127.0.0.1 true` must work without asking for anything");
}

TEST_F(Remote, NoSuchHost) {
  use("ssh://no-such-host.invalid");
  expectProblem("cannot reach 'ssh://no-such-host.invalid': ssh: Could not resolve hostname",
                "`ssh no-such-host.invalid true` must work without asking for anything");
}

TEST_F(Remote, KeyIsNotKnown) {
  startServer();
  write("authorized", "");
  expectProblem("cannot reach '" + options.machine.spelling + "': ", "`ssh 127.0.0.1 true` must work");
  Started started(options);
  EXPECT_NE(started.said.find("Permission denied (publickey"), std::string::npos) << started.said;
}

TEST_F(Remote, FolderCannotBeWritten) {
  startServer();
  use("ssh://127.0.0.1:" + std::to_string(port) + "/proc/none");
  expectProblem("cannot copy fathom-measure to '" + options.machine.spelling + "': mkdir: ",
                "a folder with room can be named: ssh://HOST/FOLDER");
}

TEST_F(Remote, NoOpenSsh) {
  options.ssh = "/nowhere/ssh";
  expectProblem("cannot reach '" + options.machine.spelling + "': cannot start '/nowhere/ssh': No such file",
                "`ssh 127.0.0.1 true`");
}

// What stands for ssh here runs the last word of its command line on this machine.
constexpr char last[] = "for word; do :; done; ";

TEST_F(Remote, LoginMayGreet) {
  writeScript("ssh", "echo Welcome; echo; " + std::string(last) + "exec sh -c \"$word\"");
  Started started(options);
  ASSERT_TRUE(started.measurer) << started.said;
  EXPECT_EQ(spell(started.measurer->measure({kernelOf("copy")}, quick())), (Words{"ok"}));
}

TEST_F(Remote, ArchitectureHasNoProgram) {
  writeScript("ssh", "echo machine riscv64; cat");
  expectProblem("there is no fathom-measure for riscv64 in ", "`./dev foreign` builds it");
}

TEST_F(Remote, ProgramMayNotRun) {
  writeScript("ssh",
              "umask 0777; " + std::string(last) + "exec sh -c \"$(echo \"$word\" | sed 's/chmod 700/chmod 600/')\"");
  expectProblem("fathom-measure does not run on '" + options.machine.spelling + "': ",
                "a folder where programs may run can be named: ssh://HOST/FOLDER");
}

TEST_F(Remote, AnswersThatMakeNoSenseAreNone) {
  writeScript("ssh", "case \"$*\" in *mktemp*) echo machine $(uname -m); cat >/dev/null; echo folder /x;; "
                     "*) echo fathom-measure 1; echo kernel 7 ok 1 2 3; cat >/dev/null;; esac");
  Started started(options);
  ASSERT_TRUE(started.measurer) << started.said;
  auto results = started.measurer->measure({kernelOf("copy")}, quick());
  EXPECT_EQ(spell(results), (Words{"lost"}));
  EXPECT_EQ(results[0].note, options.machine.spelling + " went away while kernels were timed");
}

} // namespace
