# llama.cpp's converter of Hugging Face models, for `sotto models convert`: Python files in a folder beside the library.
# The converter adds gguf-py/ to sys.path by itself.
set(SOTTO_CONVERTER_DIR ${SOTTO_OUTPUT_DIR}/llama_cpp)
configure_file(${SOTTO_LLAMA_CPP_DIR}/convert_hf_to_gguf.py ${SOTTO_CONVERTER_DIR}/convert_hf_to_gguf.py COPYONLY)
configure_file(${SOTTO_LLAMA_CPP_DIR}/LICENSE ${SOTTO_CONVERTER_DIR}/LICENSE COPYONLY)
configure_file(${SOTTO_LLAMA_CPP_DIR}/gguf-py/LICENSE ${SOTTO_CONVERTER_DIR}/gguf-py/LICENSE COPYONLY)
foreach(package conversion gguf-py/gguf)
    file(GLOB sources RELATIVE ${SOTTO_LLAMA_CPP_DIR} ${SOTTO_LLAMA_CPP_DIR}/${package}/*.py)
    foreach(source IN LISTS sources)
        configure_file(${SOTTO_LLAMA_CPP_DIR}/${source} ${SOTTO_CONVERTER_DIR}/${source} COPYONLY)
    endforeach()
endforeach()
if(DEFINED SKBUILD) # only the Python package uses it
    install(
        DIRECTORY ${SOTTO_CONVERTER_DIR} DESTINATION ${SOTTO_RUNTIME_DIR}
        PATTERN __pycache__ EXCLUDE
    )
endif()
