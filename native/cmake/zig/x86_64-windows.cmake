# Windows 10 and newer, with the C library that is part of Windows (UCRT).
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(SOTTO_ZIG_TARGET x86_64-windows-gnu)
set(CMAKE_HAVE_PTHREAD_H FALSE CACHE INTERNAL "") # zig's C++ library uses Windows' own threads
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
find_program(SOTTO_WINE NAMES wine64 wine PATHS /usr/lib/wine)
if(SOTTO_WINE)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${SOTTO_WINE}) # ctest runs tests with Wine
endif()
