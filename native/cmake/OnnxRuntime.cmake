# The header of ONNX Runtime's C API, the only part of it that the module sotto_onnx needs when it is built. Include after
# PipSource.cmake.
#
# sotto_onnxruntime_default(<variable>) sets it to ON where sotto_onnxruntime_header() will find the header without more
# settings. sotto_onnxruntime_header(<variable>) sets it to the header's folder: the machine's own header
# (-DSOTTO_ONNXRUNTIME_INCLUDE_DIR=...) if it is of version 1.17 or later, otherwise that of Debian's package, which is
# downloaded without being installed.

include(${CMAKE_CURRENT_LIST_DIR}/DebSource.cmake)

# Sets `result` to the version of the C API of the machine's header, or to 0.
function(sotto_onnxruntime_installed result)
    if(NOT CMAKE_CROSSCOMPILING)
        find_path(
            SOTTO_ONNXRUNTIME_INCLUDE_DIR onnxruntime_c_api.h
            PATH_SUFFIXES onnxruntime onnxruntime/core/session
        )
    endif()
    set(version 0)
    if(EXISTS ${SOTTO_ONNXRUNTIME_INCLUDE_DIR}/onnxruntime_c_api.h)
        file(
            STRINGS ${SOTTO_ONNXRUNTIME_INCLUDE_DIR}/onnxruntime_c_api.h line
            REGEX "^#define ORT_API_VERSION [0-9]+"
        )
        string(REGEX MATCH "[0-9]+$" version "${line}")
    endif()
    set(${result} ${version} PARENT_SCOPE)
endfunction()

function(sotto_onnxruntime_default result)
    set(${result} OFF PARENT_SCOPE)
    set(debian "")
    if(EXISTS /etc/os-release)
        file(STRINGS /etc/os-release debian REGEX "^ID=debian$")
    endif()
    sotto_onnxruntime_installed(version)
    if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
        return() # not tried yet
    endif()
    if(debian OR version GREATER_EQUAL 17)
        set(${result} ON PARENT_SCOPE)
    endif()
endfunction()

function(sotto_onnxruntime_header result)
    sotto_onnxruntime_installed(version)
    if(version GREATER_EQUAL 17)
        set(${result} ${SOTTO_ONNXRUNTIME_INCLUDE_DIR} PARENT_SCOPE)
        return()
    endif()
    sotto_deb_source(
        libonnxruntime-dev
        VERSION 1.21.0+dfsg-1
        ARCH amd64
        POOL pool/main/o/onnxruntime
        SHA256 14f7d959d5deacbcf1504830d4189f91fc67382b399ed9ae9d3aa9c4050ced08
        RESULT folder
    )
    set(${result} ${folder}/include/onnxruntime PARENT_SCOPE)
endfunction()
