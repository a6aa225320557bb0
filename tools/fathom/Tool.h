// The command line tool as a function, so that a library can have it.
#pragma once

extern "C" int fathom_main(int argc, char **argv);
