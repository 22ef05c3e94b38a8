# Third-party dependencies, downloaded at configure time, pinned by version and hash.
#
# Sets SOTTO_LLAMA_CPP_DIR, and defines the targets sotto_json (#include <nlohmann/json.hpp>), sotto_zstd,
# sotto_sqlite, sotto_re2 (#include <re2/re2.h>) and sotto_darts (#include <darts.h>). Downloads are cached in
# $SOTTO_CACHE, else $XDG_CACHE_HOME/sotto, else ~/.cache/sotto.

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

include(${CMAKE_CURRENT_LIST_DIR}/Sqlite.cmake)

add_library(sotto_json INTERFACE)
target_include_directories(sotto_json SYSTEM INTERFACE ${SOTTO_LLAMA_CPP_DIR}/vendor)
set(SOTTO_JSON_HEADER ${CMAKE_CURRENT_LIST_DIR}/../json/destroy_memory.hpp) # says why it is included
target_compile_options(sotto_json INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${SOTTO_JSON_HEADER}>")

# RE2 without Abseil, as gRPC for Python compiles it into every wheel.
sotto_pip_source(
    grpcio
    VERSION 1.76.0
    SHA256 7be78388d6da1a25c0d5ec506523db58b18be22d9c37d8d3a32c08be4987bd73
    FOLDER third_party/re2
    RESULT SOTTO_RE2_DIR
)
set(SOTTO_RE2_SOURCES)
foreach(source bitstate compile dfa nfa onepass parse perl_groups prog re2 regexp simplify stringpiece tostring unicode_casefold unicode_groups)
    list(APPEND SOTTO_RE2_SOURCES ${SOTTO_RE2_DIR}/re2/${source}.cc)
endforeach()
add_library(sotto_re2 STATIC ${SOTTO_RE2_SOURCES} ${SOTTO_RE2_DIR}/util/rune.cc ${SOTTO_RE2_DIR}/util/strutil.cc)
target_include_directories(sotto_re2 SYSTEM PUBLIC ${SOTTO_RE2_DIR})
target_link_libraries(sotto_re2 PRIVATE Threads::Threads)
target_compile_options(sotto_re2 PRIVATE -w)
set(SOTTO_RE2_HEADER ${CMAKE_CURRENT_LIST_DIR}/../guard/re2_once.hpp) # says why it is included
target_compile_options(sotto_re2 PUBLIC "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${SOTTO_RE2_HEADER}>")

sotto_pip_source(
    sentencepiece
    VERSION 0.2.3
    SHA256 21618ad31f0453a1ebf5ec58defed99758d54af0b670546ecac639ddd8b86fbd
    FOLDER sentencepiece/third_party/darts_clone
    RESULT SOTTO_DARTS_DIR
)
add_library(sotto_darts INTERFACE) # a double-array trie
target_include_directories(sotto_darts SYSTEM INTERFACE ${SOTTO_DARTS_DIR})

# Both name their source files in messages: relative to the dependency.
foreach(target sotto_re2 sotto_darts)
    set(visibility PUBLIC)
    if(target STREQUAL "sotto_darts")
        set(visibility INTERFACE)
    endif()
    if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
        target_compile_options(
            ${target} ${visibility}
            -ffile-prefix-map=${SOTTO_RE2_DIR}=re2 -ffile-prefix-map=${SOTTO_DARTS_DIR}=darts
        )
    endif()
endforeach()
