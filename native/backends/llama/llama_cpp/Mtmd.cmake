# llama.cpp's mtmd: encodes images and sounds into embeddings.
#
# mtmd's helpers are left out: they decode files without limits, run other programs and write to the console.
# media_file.cpp decodes files with the same libraries.

set(mtmd ${SOTTO_LLAMA_CPP_DIR}/tools/mtmd)
file(GLOB models ${mtmd}/models/*.cpp)
list(SORT models)
set(sources clip.cpp mtmd-audio.cpp mtmd-image.cpp mtmd.cpp)
list(TRANSFORM sources PREPEND ${mtmd}/)

add_library(sotto_llama_mtmd STATIC EXCLUDE_FROM_ALL ${sources} ${models})
target_include_directories(sotto_llama_mtmd SYSTEM PUBLIC ${mtmd})
compile_together(sotto_llama_mtmd all 60 ${models})
target_compile_options(sotto_llama_mtmd PRIVATE -ffunction-sections -fdata-sections)
# Routes graph building through graph_parts.cpp, which checks that tensors exist.
set(parts
    add sub mul div mul_mat get_rows repeat ssm_conv concat conv_1d conv_1d_ph conv_2d conv_2d_dw conv_2d_direct
    conv_2d_dw_direct im2col cont transpose cast permute reshape_1d reshape_2d reshape_3d reshape_4d repeat_4d
    view_1d view_2d
)
list(TRANSFORM parts REPLACE "(.+)" "ggml_\\1=sotto_\\1")
target_compile_definitions(sotto_llama_mtmd PRIVATE ${parts})
# Routes an encoder's graph through projector.cpp, which uses a step's threads and can abort it.
set_source_files_properties(
    ${mtmd}/clip.cpp PROPERTIES COMPILE_DEFINITIONS ggml_backend_sched_graph_compute=sotto_compute_encoder
)
set_source_files_properties(${mtmd}/mtmd-audio.cpp PROPERTIES COMPILE_DEFINITIONS _USE_MATH_DEFINES) # M_PI, on Windows
target_link_libraries(sotto_llama_mtmd PUBLIC ggml llama PRIVATE Threads::Threads)
target_compile_features(sotto_llama_mtmd PUBLIC cxx_std_17)

# Decoders of image and sound files, and the hash that identifies them.
add_library(sotto_llama_decoders STATIC EXCLUDE_FROM_ALL decoders.cpp)
target_include_directories(
    sotto_llama_decoders SYSTEM PUBLIC ${SOTTO_LLAMA_CPP_DIR}/vendor ${SOTTO_LLAMA_CPP_DIR}/common
)
target_compile_options(sotto_llama_decoders PRIVATE -ffunction-sections -fdata-sections)
target_compile_definitions(
    sotto_llama_decoders PUBLIC
    STBI_NO_STDIO STBI_ONLY_BMP STBI_ONLY_GIF STBI_ONLY_JPEG STBI_ONLY_PNG
    MA_NO_DEVICE_IO MA_NO_ENCODING MA_NO_ENGINE MA_NO_GENERATION MA_NO_NODE_GRAPH MA_NO_RESOURCE_MANAGER MA_NO_STDIO
)
target_link_libraries(sotto_llama_decoders PUBLIC vendor::hash)
target_compile_features(sotto_llama_decoders PUBLIC cxx_std_17)
