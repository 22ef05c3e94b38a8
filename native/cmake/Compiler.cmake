# How everything is compiled, the peers of benches included.
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
endif()
find_program(SOTTO_CCACHE ccache)
if(SOTTO_CCACHE)
    cmake_path(SET _root NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../..)
    # What one checkout compiled is of use to another: paths in it go by where it is.
    set(_cached ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${_root} CCACHE_NOHASHDIR=1 ${SOTTO_CCACHE})
    set(CMAKE_C_COMPILER_LAUNCHER ${SOTTO_LAUNCHER} ${_cached}) # the toolchain file may set the former
    set(CMAKE_CXX_COMPILER_LAUNCHER ${SOTTO_LAUNCHER} ${_cached})
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# A target's sources are compiled 40 at a time: most of the time goes into the headers that they share.
# Without it each is compiled alone, which shows whether each includes what it needs.
option(SOTTO_UNITY "Compile several sources of a target together" ON)
function(sotto_compile_together target)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${SOTTO_UNITY} UNITY_BUILD_BATCH_SIZE 40)
endfunction()
