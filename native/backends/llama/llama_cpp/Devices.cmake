# Build settings of ggml's GPU backends, one library each, and the device registries that include them.
#
# llama.cpp itself is configured without these backends, because otherwise each module would compile all of
# llama.cpp. Only sources that differ are compiled here.
include_guard()

get_target_property(ggml_dir ggml SOURCE_DIR)
get_directory_property(ggml_definitions DIRECTORY ${ggml_dir} COMPILE_DEFINITIONS)
get_target_property(ggml_includes ggml INCLUDE_DIRECTORIES)

function(ggml_add_backend_library backend) # ggml's version links the backend to ggml, and so to every module
    add_library(${backend} STATIC EXCLUDE_FROM_ALL ${ARGN})
    target_compile_definitions(${backend} PRIVATE ${ggml_definitions})
    target_include_directories(${backend} PRIVATE ${ggml_dir})
    target_link_libraries(${backend} PRIVATE ggml-base)
    set_target_properties(${backend} PROPERTIES CXX_STANDARD 17)
endfunction()

# Adds the device registry of a backend, as an object library: its symbols then come before those of the
# CPU-only registry.
function(sotto_ggml_registry kind)
    string(TOUPPER ${kind} macro)
    set(registry sotto_ggml_${kind}_registry)
    add_library(${registry} OBJECT EXCLUDE_FROM_ALL ${ggml_dir}/ggml-backend-reg.cpp)
    target_compile_definitions(${registry} PRIVATE ${ggml_definitions} GGML_USE_CPU GGML_USE_${macro})
    target_include_directories(${registry} PRIVATE ${ggml_dir} ${ggml_includes})
    target_link_libraries(${registry} PRIVATE ggml-base)
    set_target_properties(${registry} PROPERTIES CXX_STANDARD 17)
endfunction()
