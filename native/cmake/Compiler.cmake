# How everything is compiled, the peers of benches included.
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
endif()
find_program(SOTTO_CCACHE ccache)
if(SOTTO_CCACHE)
    set(CMAKE_C_COMPILER_LAUNCHER ${SOTTO_LAUNCHER} ${SOTTO_CCACHE}) # the toolchain file may set the former
    set(CMAKE_CXX_COMPILER_LAUNCHER ${SOTTO_LAUNCHER} ${SOTTO_CCACHE})
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
