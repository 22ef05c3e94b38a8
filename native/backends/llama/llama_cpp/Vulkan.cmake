# ggml's Vulkan backend, and the registry that knows of it: sotto_ggml_vulkan, for the module of that name.
#
# llama.cpp is not configured for Vulkan, or all of it would be compiled once more: what differs is compiled here.

include(${CMAKE_CURRENT_LIST_DIR}/../../../cmake/VulkanHeaders.cmake)

# Stands in for the loader, which ggml would link: vulkan/loader.cpp has the functions that it calls by name.
add_library(Vulkan::Vulkan INTERFACE IMPORTED)
target_include_directories(Vulkan::Vulkan INTERFACE ${SOTTO_VULKAN_INCLUDE_DIRS})
list(GET SOTTO_VULKAN_INCLUDE_DIRS 0 Vulkan_INCLUDE_DIR)
set(Vulkan_LIBRARY none)

# Of its package, ggml wants to know that it is there.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/spirv/SPIRV-HeadersConfig.cmake "")
set(SPIRV-Headers_DIR ${CMAKE_CURRENT_BINARY_DIR}/spirv)

get_target_property(ggml_dir ggml SOURCE_DIR)
get_directory_property(ggml_definitions DIRECTORY ${ggml_dir} COMPILE_DEFINITIONS)
get_target_property(ggml_includes ggml INCLUDE_DIRECTORIES)

function(ggml_add_backend_library backend) # ggml's own links it to ggml, and so to every module
    add_library(${backend} STATIC EXCLUDE_FROM_ALL ${ARGN})
    target_compile_definitions(${backend} PRIVATE ${ggml_definitions})
    target_include_directories(${backend} PRIVATE ${ggml_dir})
    target_link_libraries(${backend} PRIVATE ggml-base)
    set_target_properties(${backend} PROPERTIES CXX_STANDARD 17)
endfunction()
add_subdirectory(${ggml_dir}/ggml-vulkan ggml-vulkan EXCLUDE_FROM_ALL)

# Objects, so that they come before those of the registry that knows of the CPU alone.
add_library(sotto_ggml_vulkan_registry OBJECT EXCLUDE_FROM_ALL ${ggml_dir}/ggml-backend-reg.cpp)
target_compile_definitions(
    sotto_ggml_vulkan_registry PRIVATE ${ggml_definitions} GGML_USE_CPU GGML_USE_VULKAN
)
target_include_directories(sotto_ggml_vulkan_registry PRIVATE ${ggml_dir} ${ggml_includes})
target_link_libraries(sotto_ggml_vulkan_registry PRIVATE ggml-base)
set_target_properties(sotto_ggml_vulkan_registry PROPERTIES CXX_STANDARD 17)
set(SOTTO_VULKAN_INCLUDE_DIRS ${SOTTO_VULKAN_INCLUDE_DIRS} PARENT_SCOPE)
