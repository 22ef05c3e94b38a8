# Builds ggml's CPU backend once per ISA tier.

include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)
check_cxx_compiler_flag(-mno-amx-tile SOTTO_KNOWS_AMX)

# Returns the compiler flags of a tier. isa_tier.cpp is compiled with them too, and records them.
function(sotto_tier_flags tier result)
    if(tier STREQUAL "native")
        if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
            set(flags -mcpu=native)
        else()
            set(flags -march=native)
            if(SOTTO_KNOWS_AMX) # gcc 12's _tile_loadconfig() reads 8 of 64 bytes, and the rest is optimised away
                list(APPEND flags -mno-amx-tile -mno-amx-int8 -mno-amx-bf16)
            endif()
        endif()
        if(CMAKE_CROSSCOMPILING)
            set(flags) # the build machine is not the machine that runs the module
        endif()
    elseif(tier MATCHES "^x86-64-v[234]$")
        string(REPLACE "x86-64-v" "x86_64_v" clang_cpu ${tier})
        set(flags -march=${tier})
        if("$ENV{CC} ${CMAKE_C_COMPILER}" MATCHES "zig") # zig spells CPUs its own way
            set(flags -mcpu=${clang_cpu})
        endif()
    else()
        message(FATAL_ERROR "SOTTO_TIERS names the tier ${tier}; there are native, x86-64-v2, x86-64-v3 and x86-64-v4")
    endif()
    set(${result} "${flags}" PARENT_SCOPE)
endfunction()

# Evaluates a preprocessor condition under a tier's flags.
function(sotto_tier_is tier flags condition result)
    list(JOIN flags " " CMAKE_REQUIRED_FLAGS)
    set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # nothing is linked: zig would build its C library for the tier
    check_cxx_source_compiles("#if !(${condition})\n#error another tier\n#endif\nint main() {}" ${result}_${tier})
    set(${result} ${${result}_${tier}} PARENT_SCOPE)
endfunction()

# Adds our matrix kernels where they are faster than ggml's: see matmul/matmul.hpp.
function(sotto_add_matmul tier flags)
    sotto_tier_is(${tier} "${flags}" "defined __AVX2__ && defined __FMA__ && defined __F16C__" SOTTO_HAS_AVX2)
    sotto_tier_is(${tier} "${flags}" "defined __AVX512F__" SOTTO_HAS_AVX512)
    if(NOT SOTTO_HAS_AVX2)
        return()
    endif()
    target_sources(sotto_ggml_cpu_${tier} PRIVATE ${ours}/devices/cpu/matmul/matmul.cpp ${ours}/devices/cpu/matmul/q6_k.cpp)
    target_compile_definitions(sotto_ggml_cpu_${tier} PRIVATE SOTTO_HAS_AVX2_MATMUL)
    if(SOTTO_HAS_AVX512)
        foreach(kernel bf16 bf16_tiles q4_0_vnni q4_k_vnni)
            target_sources(sotto_ggml_cpu_${tier} PRIVATE ${ours}/devices/cpu/matmul/${kernel}.cpp)
        endforeach()
        target_compile_definitions(sotto_ggml_cpu_${tier} PRIVATE SOTTO_HAS_BF16_MATMUL SOTTO_HAS_VNNI_REPACK)
    else()
        target_sources(sotto_ggml_cpu_${tier} PRIVATE ${ours}/devices/cpu/matmul/q4_0.cpp ${ours}/devices/cpu/matmul/q4_k.cpp)
        target_compile_definitions(sotto_ggml_cpu_${tier} PRIVATE SOTTO_HAS_AVX2_REPACK)
    endif()
endfunction()

get_target_property(ggml_cpu_dir ggml-cpu SOURCE_DIR)
get_target_property(ggml_cpu_sources ggml-cpu SOURCES)
get_target_property(ggml_cpu_includes ggml-cpu INCLUDE_DIRECTORIES)
foreach(kind DEFINITIONS OPTIONS)
    get_target_property(of_target ggml-cpu COMPILE_${kind})
    get_directory_property(of_folder DIRECTORY ${ggml_cpu_dir} COMPILE_${kind})
    set(ggml_cpu_${kind} ${of_folder} ${of_target})
    list(FILTER ggml_cpu_${kind} EXCLUDE REGEX "NOTFOUND$")
endforeach()
list(TRANSFORM ggml_cpu_sources PREPEND ${ggml_cpu_dir}/)

# Source properties apply to all tiers; differences between tiers are definitions of the target.
set_source_files_properties(
    ${ggml_cpu_dir}/ggml-cpu/ggml-cpu.c PROPERTIES
    COMPILE_OPTIONS "-include;${CMAKE_CURRENT_SOURCE_DIR}/ggml_cpu_hooks.h"
)
set_source_files_properties(
    ${ggml_cpu_dir}/ggml-cpu/repack.cpp PROPERTIES
    COMPILE_OPTIONS "-include;${CMAKE_CURRENT_SOURCE_DIR}/ggml_repack_hooks.h"
)

set_source_files_properties( # which checks at run time that the CPU has them
    ${ours}/devices/cpu/matmul/bf16.cpp PROPERTIES COMPILE_OPTIONS -mavx512bf16
)
set_source_files_properties(
    ${ours}/devices/cpu/matmul/q4_0_vnni.cpp ${ours}/devices/cpu/matmul/q4_k_vnni.cpp
    PROPERTIES COMPILE_OPTIONS -mavx512vnni
)
set_source_files_properties(
    ${ours}/devices/cpu/matmul/bf16_tiles.cpp PROPERTIES COMPILE_OPTIONS "-mamx-tile;-mamx-bf16"
)

foreach(tier IN LISTS SOTTO_TIERS)
    sotto_tier_flags(${tier} flags)
    add_library(
        sotto_ggml_cpu_${tier} STATIC EXCLUDE_FROM_ALL
        ${ggml_cpu_sources} ${ours}/devices/cpu/activation/gelu.cpp ${ours}/devices/cpu/attention/attention.cpp
    )
    target_compile_features(sotto_ggml_cpu_${tier} PRIVATE c_std_11 cxx_std_17)
    target_compile_definitions(sotto_ggml_cpu_${tier} PRIVATE ${ggml_cpu_DEFINITIONS})
    target_compile_options(sotto_ggml_cpu_${tier} PRIVATE ${ggml_cpu_OPTIONS} ${flags})
    target_include_directories(sotto_ggml_cpu_${tier} PRIVATE ${ggml_cpu_includes})
    target_link_libraries(sotto_ggml_cpu_${tier} PRIVATE sotto_llama_threads ggml-base)
    sotto_add_matmul(${tier} "${flags}")
    set(SOTTO_TIER_FLAGS_${tier} "${flags}")
    set(SOTTO_TIER_FLAGS_${tier} "${flags}" PARENT_SCOPE)
endforeach()
