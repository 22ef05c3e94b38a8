# What we build with and do not write ourselves: fetched at configure time, pinned by version and hash.
#
# Sets SOTTO_LLAMA_CPP_DIR, and makes the target sotto_json (#include <nlohmann/json.hpp>).
# Downloads are kept in $SOTTO_CACHE, else $XDG_CACHE_HOME/sotto, else ~/.cache/sotto.

include(${CMAKE_CURRENT_LIST_DIR}/PipSource.cmake)

sotto_pip_source(
    llama-cpp-python
    VERSION 0.3.36
    SHA256 832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
    FOLDER vendor/llama.cpp
    RESULT SOTTO_LLAMA_CPP_DIR
)

add_library(sotto_json INTERFACE)
target_include_directories(sotto_json SYSTEM INTERFACE ${SOTTO_LLAMA_CPP_DIR}/vendor)
