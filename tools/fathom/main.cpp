// The program `fathom`.
#include "tools/fathom/Tool.h"

int main(int argc, char **argv) { return fathom_main(argc, argv); }
