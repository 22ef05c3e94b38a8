# The fuzzers of the checks of GGUF files: include() it after core_fuzz.cmake, where the llama module is
# built.

set(
  gguf_sources
  backends/llama/file/gguf_check.cpp backends/llama/file/gguf_rules.cpp backends/llama/file/projector_rules.cpp
  backends/llama/file/tensor_rules.cpp backends/llama/runtime/one_line.cpp gguf/header.cpp gguf/reader.cpp
)
sotto_fuzz(gguf ${gguf_sources})
sotto_fuzz(adapter ${gguf_sources} backends/llama/file/adapter_check.cpp)
foreach(target gguf_fuzz adapter_fuzz)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/backends/llama)
  target_link_libraries(${target} PRIVATE ggml-base)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_link_libraries(${target} PRIVATE sotto_llama_check)
  endif()
endforeach()
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  get_target_property(folder sotto_tiny_models SOTTO_FOLDER)
  add_dependencies(gguf_fuzz sotto_tiny_models)
  add_test(NAME gguf_fuzz_models COMMAND gguf_fuzz ${folder})
  set_tests_properties(gguf_fuzz_models PROPERTIES LABELS fuzz)
endif()
