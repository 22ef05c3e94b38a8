# Third-party dependencies, downloaded at configure time, pinned by version and hash.
#
# Sets SOTTO_LLAMA_CPP_DIR, and defines the targets sotto_json (#include <nlohmann/json.hpp>) and sotto_zstd. Downloads
# are cached in $SOTTO_CACHE, else $XDG_CACHE_HOME/sotto, else ~/.cache/sotto.

include(${CMAKE_CURRENT_LIST_DIR}/PipSource.cmake)

set(SOTTO_LLAMA_CPP_PYTHON_VERSION 0.3.36)
sotto_pip_source(
    llama-cpp-python
    VERSION ${SOTTO_LLAMA_CPP_PYTHON_VERSION}
    SHA256 832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
    FOLDER vendor/llama.cpp
    RESULT SOTTO_LLAMA_CPP_DIR
)
set(SOTTO_LLAMA_ORIGIN "llama-cpp-python ${SOTTO_LLAMA_CPP_PYTHON_VERSION}") # shown to users

sotto_pip_source(
    zstandard
    VERSION 0.25.0
    SHA256 7713e1179d162cf5c7906da876ec2ccb9c3a9dcbdffef0cc7f70c3667a205f0b
    FOLDER zstd
    RESULT SOTTO_ZSTD_DIR
)
add_library(sotto_zstd STATIC ${SOTTO_ZSTD_DIR}/zstd.c)
target_include_directories(sotto_zstd SYSTEM PUBLIC ${SOTTO_ZSTD_DIR})
# Excludes the block compressors of higher levels than the one in use, which take half of zstd's compile time.
foreach(compressor GREEDY LAZY LAZY2 BTLAZY2 BTOPT BTULTRA)
    target_compile_definitions(sotto_zstd PRIVATE ZSTD_EXCLUDE_${compressor}_BLOCK_COMPRESSOR)
endforeach()

add_library(sotto_json INTERFACE)
target_include_directories(sotto_json SYSTEM INTERFACE ${SOTTO_LLAMA_CPP_DIR}/vendor)
set(SOTTO_JSON_HEADER ${CMAKE_CURRENT_LIST_DIR}/../json/destroy_memory.hpp) # says why it is included
target_compile_options(sotto_json INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${SOTTO_JSON_HEADER}>")
