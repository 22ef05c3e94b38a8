# The parts of llama.cpp's common/ that Sotto uses: chat templates and their parsers, grammars, samplers.
#
# The dependencies of these parts (command line, downloads, a log with its own thread) are left out: the
# linker drops the functions that would need them, and common_log.cpp replaces the log.

set(common ${SOTTO_LLAMA_CPP_DIR}/common)
include(${common}/parsers/sources.cmake)
set(
    sources
    chat-auto-parser-generator.cpp
    chat-auto-parser-helpers.cpp
    chat-diff-analyzer.cpp
    chat-peg-parser.cpp
    chat.cpp
    common.cpp
    jinja/caps.cpp
    jinja/lexer.cpp
    jinja/parser.cpp
    jinja/runtime.cpp
    jinja/string.cpp
    jinja/value.cpp
    json-schema-to-grammar.cpp
    json-schema.cpp
    json.cpp
    peg-parser.cpp
    reasoning-budget.cpp
    sampling.cpp
    trie.cpp
    unicode.cpp
)
list(TRANSFORM sources PREPEND ${common}/)
list(FILTER LLAMA_CHAT_PARSERS_SOURCES INCLUDE REGEX "cpp$")
# Makes the names in LLAMA_CHAT_PARSERS_SOURCES absolute.
list(TRANSFORM LLAMA_CHAT_PARSERS_SOURCES REPLACE "^.*/parsers/" "${common}/parsers/")

set(absent)
if(WIN32)
    set(absent absent.cpp)
endif()

add_library(sotto_llama_common STATIC EXCLUDE_FROM_ALL ${sources} ${LLAMA_CHAT_PARSERS_SOURCES} ${absent})
compile_together(sotto_llama_common all 60 ${LLAMA_CHAT_PARSERS_SOURCES} ${sources})
# value.cpp specialises a template, which must not follow a use of the template in a unity build.
set_source_files_properties(${common}/jinja/value.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
# Templates are programs from untrusted model files: jinja/ wraps this parser by one that enforces limits.
set_source_files_properties(
    ${common}/jinja/parser.cpp PROPERTIES COMPILE_DEFINITIONS parse_from_tokens=parse_without_limits
)
target_include_directories(sotto_llama_common SYSTEM PUBLIC ${common} ${SOTTO_LLAMA_CPP_DIR}/src)
set_source_files_properties(${common}/json.cpp PROPERTIES COMPILE_OPTIONS "-include;${SOTTO_JSON_HEADER}")
target_compile_options(sotto_llama_common PRIVATE -ffunction-sections -fdata-sections)
target_link_libraries(sotto_llama_common PUBLIC llama vendor::nlohmann)
target_compile_features(sotto_llama_common PUBLIC cxx_std_17)
