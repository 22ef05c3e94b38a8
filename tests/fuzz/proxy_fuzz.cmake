# The fuzzer of what servers answer: include() it after core_fuzz.cmake, where the proxy module is built.

sotto_fuzz(
  chunks
  backends/proxy/answer_parser.cpp backends/proxy/chunk_reader.cpp backends/proxy/event_lines.cpp backends/proxy/text.cpp
)
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_link_libraries(chunks_fuzz PRIVATE sotto_proxy_parts)
endif()
