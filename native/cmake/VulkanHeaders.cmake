# Build requirements of Vulkan code: recent headers, and glslc. The loader library is not needed: it is loaded
# at run time.
#
# Sets SOTTO_VULKAN_INCLUDE_DIRS and Vulkan_GLSLC_EXECUTABLE. Uses the machine's headers, or those of an SDK
# (-DVulkan_INCLUDE_DIR=...), if they are of Vulkan 1.4; otherwise downloads Debian's packages of headers
# without installing them.

include(${CMAKE_CURRENT_LIST_DIR}/DebSource.cmake)

# Returns the minor version of Vulkan 1 of the headers in a folder, or 0.
function(sotto_vulkan_minor folder result)
    set(minor 0)
    if(EXISTS ${folder}/vulkan/vulkan.hpp)
        file(STRINGS ${folder}/vulkan/vulkan_core.h line REGEX "define VK_HEADER_VERSION_COMPLETE ")
        string(REGEX MATCH "\\(0, 1, ([0-9]+)," found "${line}")
        set(minor ${CMAKE_MATCH_1})
    endif()
    set(${result} ${minor} PARENT_SCOPE)
endfunction()

if(NOT CMAKE_CROSSCOMPILING) # the machine's folder also has headers that do not suit the target
    find_path(Vulkan_INCLUDE_DIR vulkan/vulkan.hpp HINTS $ENV{VULKAN_SDK}/include)
    find_path(SOTTO_SPIRV_INCLUDE_DIR spirv/unified1/spirv.hpp HINTS ${Vulkan_INCLUDE_DIR} $ENV{VULKAN_SDK}/include)
endif()
sotto_vulkan_minor("${Vulkan_INCLUDE_DIR}" _minor)
if(_minor GREATER_EQUAL 4 AND SOTTO_SPIRV_INCLUDE_DIR)
    set(SOTTO_VULKAN_INCLUDE_DIRS ${Vulkan_INCLUDE_DIR} ${SOTTO_SPIRV_INCLUDE_DIR})
else()
    sotto_deb_source(
        libvulkan-dev
        VERSION 1.4.309.0-1
        ARCH amd64
        POOL pool/main/v/vulkan-loader
        SHA256 8d329d465e16168afff58b1bd0dd6db46aac2cc3f56054a481b25a04e90b345a
        RESULT _vulkan
    )
    sotto_deb_source(
        spirv-headers
        VERSION 1.6.1+1.4.309.0-1
        ARCH all
        POOL pool/main/s/spirv-headers
        SHA256 dc18db866d63680351c40ac6b6bece34cb52da64a7799ce1cc4f16f6bff4d064
        RESULT _spirv
    )
    set(SOTTO_VULKAN_INCLUDE_DIRS ${_vulkan}/include ${_spirv}/include)
endif()
list(GET SOTTO_VULKAN_INCLUDE_DIRS 0 _headers)
set(SOTTO_VULKAN_HEADERS ${_headers} CACHE INTERNAL "The folder of vulkan/vulkan.h")

find_program(SOTTO_GLSLC glslc HINTS $ENV{VULKAN_SDK}/bin)
if(NOT SOTTO_GLSLC)
    message(FATAL_ERROR "SOTTO_VULKAN wants glslc, which compiles shaders: install the package glslc, or the Vulkan SDK")
endif()

# Caches compiled shaders: compiling takes minutes, and they change only with llama.cpp and glslc.
set(Vulkan_GLSLC_EXECUTABLE ${SOTTO_GLSLC})
find_program(SOTTO_SH sh)
if(SOTTO_SH AND NOT CMAKE_HOST_WIN32)
    sotto_cache_dir(_cache)
    set(Vulkan_GLSLC_EXECUTABLE ${CMAKE_BINARY_DIR}/glslc-cached)
    file(SHA256 ${SOTTO_GLSLC} SOTTO_GLSLC_HASH)
    set(SOTTO_SHADER_CACHE ${_cache}/../shaders)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/glslc-cached.in ${Vulkan_GLSLC_EXECUTABLE} @ONLY USE_SOURCE_PERMISSIONS)
endif()
