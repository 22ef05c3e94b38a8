// Before main(): what ggml's CUDA backend calls of cuBLAS is found, as our module finds it.
#include "devices/cuda/libraries.hpp"

[[maybe_unused]] static const bool kOpened = (sotto::llama::open_blas(), true);
