# ggml's Vulkan backend and a device registry that includes it, for the module sotto_llama_vulkan.

include(${CMAKE_CURRENT_LIST_DIR}/../../../cmake/VulkanHeaders.cmake)

# Replaces the loader library that ggml would link: vulkan/loader.cpp defines the functions that ggml links by
# name.
add_library(Vulkan::Vulkan INTERFACE IMPORTED)
target_include_directories(Vulkan::Vulkan INTERFACE ${SOTTO_VULKAN_INCLUDE_DIRS})
list(GET SOTTO_VULKAN_INCLUDE_DIRS 0 Vulkan_INCLUDE_DIR)
set(Vulkan_LIBRARY none)

# ggml only requires that the package SPIRV-Headers is found.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/spirv/SPIRV-HeadersConfig.cmake "")
set(SPIRV-Headers_DIR ${CMAKE_CURRENT_BINARY_DIR}/spirv)

include(Devices.cmake)
add_subdirectory(${ggml_dir}/ggml-vulkan ggml-vulkan EXCLUDE_FROM_ALL)

sotto_ggml_registry(vulkan)
set(SOTTO_VULKAN_INCLUDE_DIRS ${SOTTO_VULKAN_INCLUDE_DIRS} PARENT_SCOPE)

# Redirects getenv() in ggml's Vulkan backend and in its registry.
set_source_files_properties(
    ${ggml_dir}/ggml-vulkan/ggml-vulkan.cpp TARGET_DIRECTORY ggml-vulkan PROPERTIES
    COMPILE_OPTIONS "-include;${CMAKE_CURRENT_SOURCE_DIR}/../devices/vulkan/environment.hpp"
)
target_compile_options(
    sotto_ggml_vulkan_registry PRIVATE -include ${CMAKE_CURRENT_SOURCE_DIR}/../devices/vulkan/environment.hpp
)
