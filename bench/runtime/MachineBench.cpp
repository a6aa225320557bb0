// What threads of this machine do beside each other, without memory and without a runtime: multiply-adds on registers.
//   machine_bench THREADS SECONDS
// Every thread does the same work again and again; prints the milliseconds of each time, all threads together, as JSON.
#include "tools/fathom/machine/MultiplyAdds.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

static double workMilliseconds(int threads) {
  auto work = [] { fathom::multiplyAdds(1 << 18); };
  auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i)
    others.emplace_back(work);
  work();
  for (std::thread &other : others)
    other.join();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

int main(int argc, char **argv) {
  int threads = argc == 3 ? std::atoi(argv[1]) : 0;
  double left = argc == 3 ? std::atof(argv[2]) * 1e3 : 0;
  if (threads < 1 || threads > 1024 || left <= 0) {
    std::fprintf(stderr, "usage: machine_bench THREADS SECONDS\n");
    return 2;
  }
  for (const char *before = "["; left > 0; before = ", ") {
    double took = workMilliseconds(threads);
    std::printf("%s%.4f", before, took);
    left -= took;
  }
  std::printf("]\n");
}
