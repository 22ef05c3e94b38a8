# For ggml as users get it: no AMX where we build without it (native/backends/llama/llama_cpp/Tiers.cmake says
# why), so that llama-bench runs there at all.
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-mno-amx-tile SOTTO_KNOWS_AMX)
if(SOTTO_KNOWS_AMX)
    add_compile_options(-mno-amx-tile -mno-amx-int8 -mno-amx-bf16)
endif()
