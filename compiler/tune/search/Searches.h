// The searches, each in a file of its own.
#pragma once

#include "compiler/tune/search/Search.h"

namespace fathom::tune {

const Search &randomSearch();    // Random.cpp
const Search &descentSearch();   // Descent.cpp
const Search &evolutionSearch(); // Evolution.cpp
const Search &geneticSearch();   // Genetic.cpp
// With what studies leave out of it, or do otherwise.
llvm::ArrayRef<const Search *> constructSearches(); // Construct.cpp
llvm::ArrayRef<const Search *> autoTvmSearches();   // AutoTvm.cpp
llvm::ArrayRef<const Search *> chameleonSearches(); // Chameleon.cpp

} // namespace fathom::tune
