# The fuzzer of the checks of weights files: include() it after core_fuzz.cmake, where sotto_diffusion_check is built.
sotto_fuzz(weights)
target_link_libraries(weights_fuzz PRIVATE sotto_diffusion_check)
