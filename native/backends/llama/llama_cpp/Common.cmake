# The part of llama.cpp's common/ that we use: its Jinja, which renders chat templates.

set(common ${SOTTO_LLAMA_CPP_DIR}/common)
set(sources json.cpp unicode.cpp jinja/caps.cpp jinja/lexer.cpp jinja/parser.cpp jinja/runtime.cpp jinja/string.cpp jinja/value.cpp)
list(TRANSFORM sources PREPEND ${common}/)

add_library(sotto_llama_common STATIC EXCLUDE_FROM_ALL ${sources})
target_include_directories(sotto_llama_common SYSTEM PUBLIC ${common} ${SOTTO_LLAMA_CPP_DIR}/src)
target_link_libraries(sotto_llama_common PUBLIC llama vendor::nlohmann)
target_compile_features(sotto_llama_common PUBLIC cxx_std_17)
