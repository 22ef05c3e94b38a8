# Linux on 64-bit ARM, with glibc 2.28 or newer.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(SOTTO_ZIG_TARGET aarch64-linux-gnu.2.28)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
find_program(SOTTO_QEMU NAMES qemu-aarch64 qemu-aarch64-static)
if(SOTTO_QEMU) # ctest runs tests with qemu; Debian's libc6-arm64-cross has the C library
    set(CMAKE_CROSSCOMPILING_EMULATOR ${SOTTO_QEMU} -L /usr/aarch64-linux-gnu)
endif()
