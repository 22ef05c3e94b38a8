# The fuzzer of our GGUF check: include() it after core_fuzz.cmake, where the llama module is built.

sotto_fuzz(
  gguf
  backends/llama/file/gguf_check.cpp backends/llama/file/gguf_reader.cpp backends/llama/file/gguf_rules.cpp
  backends/llama/one_line.cpp backends/llama/file/projector_rules.cpp
  backends/llama/file/tensor_rules.cpp
)
target_include_directories(gguf_fuzz PRIVATE ${CMAKE_SOURCE_DIR}/backends/llama)
target_link_libraries(gguf_fuzz PRIVATE ggml-base)
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_link_libraries(gguf_fuzz PRIVATE sotto_llama_check)
  get_target_property(folder sotto_tiny_models SOTTO_FOLDER)
  add_dependencies(gguf_fuzz sotto_tiny_models)
  add_test(NAME gguf_fuzz_models COMMAND gguf_fuzz ${folder})
  set_tests_properties(gguf_fuzz_models PROPERTIES LABELS fuzz)
endif()
