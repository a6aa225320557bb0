# find_package(fathom_rt) gives fathom::fathom_rt, and fathom::fathom_rt_static.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/fathom_rtTargets.cmake)
