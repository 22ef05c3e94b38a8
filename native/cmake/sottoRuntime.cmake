# sotto_runtime_files(<variable> <folder> [LEAVE_OUT <name>...])
#
# Sets the variable to the backend modules and the embedded models in a folder: what a game ships beside the core library.
# LEAVE_OUT names those that it does not ship: modules by their backend (llama, llama_vulkan, llama_cuda, proxy, onnx,
# diffusion, diffusion_vulkan), models without their suffix (house, matting). A model goes with the module that opens it.
#
# sottoConfig.cmake and samples/godot/CMakeLists.txt include this file.
cmake_policy(VERSION 3.10...3.24) # not the game's, which may be older

function(sotto_runtime_files result folder)
    set(names llama llama_cuda llama_vulkan proxy onnx diffusion diffusion_vulkan house matting)
    set(models house.gguf matting.onnx)
    cmake_parse_arguments(PARSE_ARGV 2 ARG "" "" LEAVE_OUT)
    if(ARG_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "invalid argument '${ARG_UNPARSED_ARGUMENTS}': expected LEAVE_OUT before the names")
    endif()
    foreach(name IN LISTS ARG_LEAVE_OUT)
        if(NOT name IN_LIST names)
            list(JOIN names ", " expected)
            message(FATAL_ERROR "invalid LEAVE_OUT '${name}': expected one of ${expected}; correct the name")
        endif()
    endforeach()
    if("onnx" IN_LIST ARG_LEAVE_OUT)
        list(APPEND ARG_LEAVE_OUT matting)
    endif()
    set(found "")
    file(GLOB files "${folder}/*sotto_*")
    foreach(file IN LISTS files)
        get_filename_component(name "${file}" NAME)
        if(name MATCHES "^(lib)?sotto_([a-z0-9_]+)(-[A-Za-z0-9_.-]+)?\\.(so|dll)$")
            set(backend ${CMAKE_MATCH_2})
            if(NOT backend MATCHES "^(unity|godot)$" AND NOT backend IN_LIST ARG_LEAVE_OUT) # libraries of one host
                list(APPEND found "${file}")
            endif()
        endif()
    endforeach()
    foreach(model IN LISTS models)
        get_filename_component(name "${model}" NAME_WE)
        if(NOT name IN_LIST ARG_LEAVE_OUT AND EXISTS "${folder}/${model}")
            list(APPEND found "${folder}/${model}")
        endif()
    endforeach()
    set(${result} "${found}" PARENT_SCOPE)
endfunction()
