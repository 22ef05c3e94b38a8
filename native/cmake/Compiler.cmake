# Compiler settings of all targets, including other projects that benchmarks compare with.
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
endif()
find_program(SOTTO_CCACHE ccache)
if(SOTTO_CCACHE)
    cmake_path(SET _root NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../..)
    # Relative paths let several checkouts share ccache's objects.
    set(_cached ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${_root} CCACHE_NOHASHDIR=1 ${SOTTO_CCACHE})
    set(CMAKE_C_COMPILER_LAUNCHER ${SOTTO_LAUNCHER} ${_cached}) # the toolchain file may set SOTTO_LAUNCHER
    set(CMAKE_CXX_COMPILER_LAUNCHER ${SOTTO_LAUNCHER} ${_cached})
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# Unity builds of 40 sources: shared headers dominate the compile time. SOTTO_UNITY=OFF compiles each source
# alone, which shows missing includes.
option(SOTTO_UNITY "Compile several sources of a target together" ON)
function(sotto_compile_together target)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${SOTTO_UNITY} UNITY_BUILD_BATCH_SIZE 40)
endfunction()
