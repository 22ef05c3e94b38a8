# The compiler of the Python package ziglang (clang, with libraries and headers for many systems), wrapped for CMake,
# which expects one program per tool. Included by the toolchain files next to it:
#
#     pip install ziglang==0.15.2
#     cmake -S native -B build/windows -G Ninja --toolchain native/cmake/zig/x86_64-windows.cmake
#
# SOTTO_ZIG is the path of zig's binary, for python3 installations without that package.

set(SOTTO_ZIG_VERSION 0.15.2) # pyproject.toml pins the same version

function(sotto_find_zig)
    foreach(python ${Python3_EXECUTABLE} python3 python)
        execute_process(
            COMMAND ${python} -c "import ziglang, pathlib; print(pathlib.Path(ziglang.__file__).with_name('zig'))"
            OUTPUT_VARIABLE zig OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
        )
        if(zig)
            break()
        endif()
    endforeach()
    find_program(SOTTO_ZIG zig HINTS ${zig})
    if(zig AND NOT SOTTO_ZIG)
        set(SOTTO_ZIG ${zig} CACHE FILEPATH "zig's binary" FORCE)
    endif()
    if(NOT SOTTO_ZIG)
        message(FATAL_ERROR "SOTTO_ZIG is not set, and there is no zig: pip install ziglang==${SOTTO_ZIG_VERSION}")
    endif()
endfunction()

# Creates a program `name` that calls zig with `arguments`. ccache identifies the program by its content,
# which must therefore not contain the build folder's path.
function(sotto_zig_program name arguments)
    set(path ${SOTTO_ZIG_PROGRAMS}/zig-${name})
    file(CONFIGURE OUTPUT ${path} CONTENT "#!/bin/sh\nexec '@SOTTO_ZIG@' ${arguments} \"$@\"\n" @ONLY)
    file(CHMOD ${path} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()

# CMake evaluates a toolchain file again in each try_compile() project.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SOTTO_ZIG SOTTO_ZIG_PROGRAMS)
if(NOT SOTTO_ZIG_PROGRAMS)
    sotto_find_zig()
    set(SOTTO_ZIG_PROGRAMS ${CMAKE_BINARY_DIR}/zig-${SOTTO_ZIG_VERSION} CACHE INTERNAL "")
    # zig always writes debug information without -g0, which makes objects twenty times as large.
    sotto_zig_program(cc "cc -target ${SOTTO_ZIG_TARGET} -g0")
    sotto_zig_program(cxx "c++ -target ${SOTTO_ZIG_TARGET} -g0")
    foreach(tool ar ranlib dlltool rc)
        sotto_zig_program(${tool} ${tool})
    endforeach()
endif()

set(CMAKE_C_COMPILER ${SOTTO_ZIG_PROGRAMS}/zig-cc)
set(CMAKE_CXX_COMPILER ${SOTTO_ZIG_PROGRAMS}/zig-cxx)
set(CMAKE_ASM_COMPILER ${CMAKE_C_COMPILER})
set(CMAKE_AR ${SOTTO_ZIG_PROGRAMS}/zig-ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${SOTTO_ZIG_PROGRAMS}/zig-ranlib CACHE FILEPATH "")
set(CMAKE_DLLTOOL ${SOTTO_ZIG_PROGRAMS}/zig-dlltool CACHE FILEPATH "")
set(CMAKE_RC_COMPILER ${SOTTO_ZIG_PROGRAMS}/zig-rc)
# zig compiles its C++ library with debug information regardless of our options. The debug information
# contains build paths.
set(CMAKE_SHARED_LINKER_FLAGS_INIT -Wl,-s)
set(CMAKE_MODULE_LINKER_FLAGS_INIT -Wl,-s)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY NEVER) # this machine's libraries do not suit the target
# Identifies the compiler for ccache, which sees only a shell script's name and date.
set(
    SOTTO_LAUNCHER
    env CCACHE_COMPILERTYPE=clang CCACHE_COMPILERCHECK=string:zig-${SOTTO_ZIG_VERSION}-${SOTTO_ZIG_TARGET}-g0
)
