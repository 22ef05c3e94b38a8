# Linux with glibc 2.28 or newer: Debian 10, RHEL 8, Ubuntu 18.10, and wheels tagged manylinux_2_28.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(SOTTO_ZIG_TARGET x86_64-linux-gnu.2.28)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
