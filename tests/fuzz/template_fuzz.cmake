# The fuzzer of chat templates: include() it after core_fuzz.cmake, where the llama module is built.

sotto_fuzz(template)
set(llama ${CMAKE_SOURCE_DIR}/backends/llama)
set(golden ${CMAKE_CURRENT_LIST_DIR}/../native/llama)
list(GET SOTTO_TIERS 0 tier)
target_sources(
  template_fuzz PRIVATE ${golden}/golden_vocabulary.cpp ${llama}/isa/isa_tier.cpp ${llama}/devices/no_device.cpp
)
target_compile_features(template_fuzz PRIVATE cxx_std_20)
target_compile_definitions(template_fuzz PRIVATE SOTTO_TIER="${tier}")
target_include_directories(template_fuzz PRIVATE ${golden})
target_link_options(template_fuzz PRIVATE -Wl,--gc-sections) # as the module does
target_link_libraries(
  template_fuzz PRIVATE
  sotto_ggml_runtime sotto_llama_objects sotto_llama_grammar sotto_llama_check
  sotto_llama_common sotto_llama_mtmd sotto_llama_decoders llama ggml sotto_ggml_cpu_${tier} Threads::Threads
)
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND NOT SOTTO_SANITIZE STREQUAL "thread")
  add_test(
    NAME template_fuzz_real COMMAND template_fuzz --seconds 15 ${SOTTO_LLAMA_CPP_DIR}/models/templates
  )
  set_tests_properties(template_fuzz_real PROPERTIES LABELS fuzz TIMEOUT 1200)
endif()
