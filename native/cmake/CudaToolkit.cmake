# The CUDA toolkit: nvcc, the static runtime, and headers including cuBLAS's. Uses the toolkit of the machine,
# or of -DSOTTO_NVCC=... -DSOTTO_CUBLAS_INCLUDE_DIR=...; otherwise downloads NVIDIA's packages from the Python
# package index (1 GB, mostly cuBLAS) and unpacks them in the cache without installing them.
#
# Sets SOTTO_CUBLAS_INCLUDE_DIR, and SOTTO_CUBLAS_DIR if the library to load at run time was found. Enables the language
# CUDA, and finds the package CUDAToolkit.

include(${CMAKE_CURRENT_LIST_DIR}/PipSource.cmake)

set(SOTTO_CUDA_ARCHITECTURES
    "75-virtual;80-virtual;86-real;89-real;90-virtual;120a-real;121a-real" CACHE STRING
    "What the CUDA module is compiled for, as CMAKE_CUDA_ARCHITECTURES"
)

# sotto_pip_wheels(<name> REQUIREMENTS <lines of a requirements file, hashed> RESULT <variable>)
# downloads and unpacks the wheels once, and sets <variable> to their folder.
function(sotto_pip_wheels name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "RESULT" "REQUIREMENTS")
    sotto_cache_dir(cache)
    set(unpacked ${cache}/${name})
    set(${arg_RESULT} ${unpacked} PARENT_SCOPE)
    if(IS_DIRECTORY ${unpacked})
        return()
    endif()
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    list(JOIN arg_REQUIREMENTS "\n" lines)
    file(WRITE ${CMAKE_BINARY_DIR}/${name}.txt "${lines}\n")
    string(RANDOM LENGTH 12 random)
    message(STATUS "fetching ${name}")
    execute_process(
        COMMAND
            ${CMAKE_COMMAND} -E env --unset=PYTHONPATH ${Python3_EXECUTABLE} -m pip install --quiet
            --disable-pip-version-check --no-deps --no-compile --require-hashes --target ${unpacked}.${random}
            --requirement ${CMAKE_BINARY_DIR}/${name}.txt
        OUTPUT_VARIABLE said
        ERROR_VARIABLE said
        RESULT_VARIABLE status
    )
    if(status EQUAL 0)
        file(RENAME ${unpacked}.${random} ${unpacked} RESULT failure)
    endif()
    file(REMOVE_RECURSE ${unpacked}.${random})
    if(NOT IS_DIRECTORY ${unpacked})
        message(FATAL_ERROR "cannot fetch ${name} (or install a CUDA toolkit): ${said} ${failure}")
    endif()
endfunction()

find_program(SOTTO_NVCC nvcc HINTS $ENV{CUDA_PATH}/bin $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
if(NOT SOTTO_NVCC)
    sotto_pip_wheels(
        cuda-13.0
        REQUIREMENTS
            "nvidia-cuda-cccl==13.0.85 --hash=sha256:e0da7ad981f3a8aff08241b5bfc1af868742a63e2762f53a5171c492ef242649"
            "nvidia-cuda-crt==13.0.88 --hash=sha256:2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4"
            "nvidia-cuda-nvcc==13.0.88 --hash=sha256:56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03"
            "nvidia-cuda-runtime==13.0.96 --hash=sha256:7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548"
            "nvidia-nvvm==13.0.88 --hash=sha256:c5f41ffeb6466944a026dfa5317d7d85355c119bbec279205d22f1869d1054e0"
        RESULT _toolkit
    )
    set(_toolkit ${_toolkit}/nvidia/cu13)
    if(NOT EXISTS ${_toolkit}/lib64) # for nvcc; CMake searches for a name that the wheel lacks
        file(CREATE_LINK libcudart.so.13 ${_toolkit}/lib/libcudart.so SYMBOLIC)
        file(CREATE_LINK lib ${_toolkit}/lib64 SYMBOLIC)
    endif()
    set(SOTTO_NVCC ${_toolkit}/bin/nvcc CACHE FILEPATH "" FORCE)
endif()

get_filename_component(_bin ${SOTTO_NVCC} DIRECTORY)
find_path(SOTTO_CUBLAS_INCLUDE_DIR cublas_v2.h HINTS ${_bin}/../include $ENV{CUDA_PATH}/include /usr/local/cuda/include)
if(NOT SOTTO_CUBLAS_INCLUDE_DIR)
    sotto_pip_wheels(
        cublas-13.0.2.14
        REQUIREMENTS
            "nvidia-cublas==13.0.2.14 --hash=sha256:0cf238ffdbe46c00cb9aa98e7bca745c223a5ca5a53e686ac8b3e5a08fe80d6c"
        RESULT _cublas
    )
    set(SOTTO_CUBLAS_INCLUDE_DIR ${_cublas}/nvidia/cu13/include CACHE PATH "The folder of cublas_v2.h" FORCE)
endif()
set(CMAKE_CUDA_COMPILER ${SOTTO_NVCC})
set(CMAKE_CUDA_ARCHITECTURES ${SOTTO_CUDA_ARCHITECTURES})
set(CMAKE_CUDA_RUNTIME_LIBRARY None) # Cuda.cmake links it by name
set(CMAKE_CUDA_STANDARD 17)
if(SOTTO_CCACHE)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${SOTTO_LAUNCHER} ${SOTTO_CCACHE})
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
if(CUDAToolkit_VERSION VERSION_LESS 13)
    message(
        FATAL_ERROR "${SOTTO_NVCC} is of CUDA ${CUDAToolkit_VERSION}, and the module wants 13 or newer: "
        "name one with -DSOTTO_NVCC=..., or take this one off the path, and it is fetched"
    )
endif()
find_path(
    SOTTO_CUBLAS_DIR libcublas.so.${CUDAToolkit_VERSION_MAJOR}
    HINTS ${SOTTO_CUBLAS_INCLUDE_DIR}/../lib ${SOTTO_CUBLAS_INCLUDE_DIR}/../lib64 /usr/local/cuda/lib64
    DOC "The folder of cuBLAS, which is opened at run time"
)
