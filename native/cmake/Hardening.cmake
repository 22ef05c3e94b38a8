# Hardening options, and removal of build paths from binaries. Include after Deps.cmake, before any target.
include_guard(GLOBAL)

# Compile options of a release. Sanitizer builds use them too, for targets that they do not instrument.
set(SOTTO_RELEASE_OPTIONS)

# Assertions contain source file names: makes them relative to the checkout or to the dependency.
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    cmake_path(SET _checkout NORMALIZE ${CMAKE_SOURCE_DIR}/..)
    list(
        APPEND SOTTO_RELEASE_OPTIONS
        -ffile-prefix-map=${SOTTO_LLAMA_CPP_DIR}=llama.cpp -ffile-prefix-map=${SOTTO_ZSTD_DIR}=zstd
        -ffile-prefix-map=${SOTTO_SQLITE_DIR}=sqlite
        -ffile-prefix-map=${CMAKE_BINARY_DIR}=build -ffile-prefix-map=${_checkout}=sotto/
    )
endif()

set(_fortified)
if(CMAKE_SYSTEM_NAME MATCHES "^(Linux|Android)$")
    list(APPEND SOTTO_RELEASE_OPTIONS $<$<COMPILE_LANGUAGE:C,CXX>:-fstack-protector-strong>)
    add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
    set(_optimised $<NOT:$<CONFIG:Debug>>)
    set(
        _fortified
        $<$<AND:${_optimised},$<COMPILE_LANGUAGE:C,CXX>>:-U_FORTIFY_SOURCE>
        $<$<AND:${_optimised},$<COMPILE_LANGUAGE:C,CXX>>:-D_FORTIFY_SOURCE=2>
    )
endif()

add_compile_options(${SOTTO_RELEASE_OPTIONS})
list(APPEND SOTTO_RELEASE_OPTIONS ${_fortified})
if(SOTTO_SANITIZE STREQUAL "") # sanitizers intercept the same functions
    add_compile_options(${_fortified})
endif()
