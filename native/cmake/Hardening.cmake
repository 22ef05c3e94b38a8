# What makes an attacker's work harder, and no build path in any binary. After Deps.cmake, before any target.
include_guard(GLOBAL)

# Assertions name their source file: relative to the checkout, or by the name of the dependency.
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    cmake_path(SET _checkout NORMALIZE ${CMAKE_SOURCE_DIR}/..)
    add_compile_options(
        -ffile-prefix-map=${SOTTO_LLAMA_CPP_DIR}=llama.cpp -ffile-prefix-map=${SOTTO_ZSTD_DIR}=zstd
        -ffile-prefix-map=${CMAKE_BINARY_DIR}=build -ffile-prefix-map=${_checkout}=sotto
    )
endif()

if(CMAKE_SYSTEM_NAME MATCHES "^(Linux|Android)$")
    add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fstack-protector-strong>)
    add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
    if(SOTTO_SANITIZE STREQUAL "") # sanitizers intercept the same functions
        set(_optimised $<NOT:$<CONFIG:Debug>>)
        add_compile_options(
            $<$<AND:${_optimised},$<COMPILE_LANGUAGE:C,CXX>>:-U_FORTIFY_SOURCE>
            $<$<AND:${_optimised},$<COMPILE_LANGUAGE:C,CXX>>:-D_FORTIFY_SOURCE=2>
        )
    endif()
endif()
