# The fuzzers of images and of ONNX files: include() it after core_fuzz.cmake, where the module sotto_onnx is built.
sotto_fuzz(image)
target_link_libraries(image_fuzz PRIVATE sotto_image)
sotto_fuzz(onnx)
target_link_libraries(onnx_fuzz PRIVATE sotto_onnx_parts)
