# Libraries that decode and encode images, downloaded at configure time, pinned by version and hash. Include after
# Deps.cmake.
#
# Defines the targets sotto_wuffs (#include <wuffs-unsupported-snapshot.c>), sotto_webp (#include <webp/decode.h>) and
# sotto_zlib (#include <zlib.h>).

# Wuffs decodes PNG and JPEG. It is one file, which pywuffs carries; without WUFFS_IMPLEMENTATION it is the header.
sotto_pip_source(
    pywuffs
    VERSION 2.0.1
    SHA256 5a9fd8a5026badf9e133940cee87ad58bd5cb4cd5264b9c46b607cb34e2bb9ab
    FOLDER libs/wuffs/release/c
    RESULT SOTTO_WUFFS_DIR
)
add_library(sotto_wuffs STATIC ${SOTTO_WUFFS_DIR}/wuffs-unsupported-snapshot.c)
target_include_directories(sotto_wuffs SYSTEM PUBLIC ${SOTTO_WUFFS_DIR})
target_compile_definitions(sotto_wuffs PUBLIC WUFFS_CONFIG__MODULES PRIVATE WUFFS_IMPLEMENTATION)
foreach(module ADLER32 BASE CRC32 DEFLATE JPEG PNG ZLIB)
    target_compile_definitions(sotto_wuffs PUBLIC WUFFS_CONFIG__MODULE__${module})
endforeach()

sotto_pip_source(
    stable-diffusion-cpp-python
    VERSION 0.4.7
    SHA256 998d1957260dd5ae4e18a8acc0c14b0a8757aaa9f96515197b6d5bbf46df9282
    FOLDER vendor/stable-diffusion.cpp
    RESULT SOTTO_STABLE_DIFFUSION_CPP_DIR
)

# libwebp, as stable-diffusion.cpp carries it.
set(SOTTO_WEBP_DIR ${SOTTO_STABLE_DIFFUSION_CPP_DIR}/thirdparty/libwebp)
set(_sources)
foreach(_folder src/dec src/demux src/dsp src/enc src/mux src/utils sharpyuv)
    file(GLOB _found ${SOTTO_WEBP_DIR}/${_folder}/*.c)
    list(APPEND _sources ${_found})
endforeach()
list(FILTER _sources EXCLUDE REGEX "_(mips32|mips_dsp_r2|msa)\\.c$|/anim_encode\\.c$")
add_library(sotto_webp STATIC ${_sources})
target_include_directories(sotto_webp SYSTEM PRIVATE ${SOTTO_WEBP_DIR} PUBLIC ${SOTTO_WEBP_DIR}/src)
if(UNIX AND NOT ANDROID)
    target_link_libraries(sotto_webp PUBLIC m)
endif()

# zlib, as gRPC carries it; only what compresses.
sotto_pip_source(
    grpcio
    VERSION 1.76.0
    SHA256 7be78388d6da1a25c0d5ec506523db58b18be22d9c37d8d3a32c08be4987bd73
    FOLDER third_party/zlib
    AS grpcio-zlib-1.76.0
    RESULT SOTTO_ZLIB_DIR
)
set(_sources)
foreach(_source adler32 crc32 deflate trees zutil)
    list(APPEND _sources ${SOTTO_ZLIB_DIR}/${_source}.c)
endforeach()
add_library(sotto_zlib STATIC ${_sources})
target_include_directories(sotto_zlib SYSTEM PUBLIC ${SOTTO_ZLIB_DIR})

foreach(_target sotto_wuffs sotto_webp sotto_zlib)
    target_compile_options(${_target} PRIVATE -w -O2 -ffunction-sections -fdata-sections)
    if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
        target_compile_options(
            ${_target} PRIVATE -ffile-prefix-map=${SOTTO_WUFFS_DIR}=wuffs -ffile-prefix-map=${SOTTO_WEBP_DIR}=webp
            -ffile-prefix-map=${SOTTO_ZLIB_DIR}=zlib
        )
    endif()
endforeach()
