# ggml's CUDA backend and a device registry that includes it, for the module sotto_llama_cuda.

include(Devices.cmake)

# A renderer's scheduling context (CiG) supports neither virtual memory management nor several GPUs.
set(GGML_CUDA_NO_VMM ON)
set(GGML_CUDA_NCCL OFF)
include(${SOTTO_LLAMA_CPP_DIR}/ggml/cmake/common.cmake) # has functions that ggml-cuda calls
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
foreach(config DEBUG RELEASE RELWITHDEBINFO MINSIZEREL)
    set(CMAKE_CUDA_FLAGS_${config} "-O3 -DNDEBUG")
endforeach()
add_subdirectory(${ggml_dir}/ggml-cuda ggml-cuda EXCLUDE_FROM_ALL)

# The CUDA runtime is linked statically and opens the driver on first use; cuda/libraries.cpp loads cuBLAS at run time.
set(links ggml-base CUDA::cudart_static)
set_target_properties(ggml-cuda PROPERTIES LINK_LIBRARIES "${links}" INTERFACE_LINK_LIBRARIES "${links}")
target_include_directories(ggml-cuda SYSTEM PRIVATE ${SOTTO_CUBLAS_INCLUDE_DIR})
target_compile_options(ggml-cuda PRIVATE -include ${CMAKE_CURRENT_SOURCE_DIR}/../devices/cuda/blas.hpp)
set_target_properties(ggml-cuda PROPERTIES CUDA_STANDARD 17)

sotto_ggml_registry(cuda)

# Compiles limits.cu with ggml's internal headers and definitions. The file limits the shared memory that ggml
# uses, and reports the lowest compute capability of ggml's kernels.
add_library(sotto_ggml_cuda_limits OBJECT EXCLUDE_FROM_ALL ../devices/cuda/limits.cu)
target_include_directories(
    sotto_ggml_cuda_limits SYSTEM PRIVATE ${ggml_dir}/ggml-cuda ${ggml_dir} ${ggml_includes} ${SOTTO_CUBLAS_INCLUDE_DIR}
)
target_compile_definitions(sotto_ggml_cuda_limits PRIVATE ${ggml_definitions} GGML_CUDA_NO_VMM)
target_link_libraries(sotto_ggml_cuda_limits PRIVATE ggml-base)
