// fathom-measure: measures groups of kernels that it is given on stdin, for `fathom` on this or another machine.
#include "tools/fathom-measure/Supervisor.h"

#include <csignal>
#include <cstdio>

using namespace fathom::measure;

int main() {
  // Who does not want the results any more ends this program.
  signal(SIGPIPE, SIG_DFL);
  setvbuf(stdout, nullptr, _IOLBF, 0);
  puts("fathom-measure 1");
  while (true) {
    Group group;
    std::string problem;
    Input input = readGroup(group, problem);
    if (input == Input::End)
      return 0;
    if (input == Input::Error) {
      printf("error %s\n", problem.c_str());
      return 1;
    }
    supervise(group);
  }
}
