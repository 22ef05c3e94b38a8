// CPU kernel of GGML_UNARY_OP_GELU.
#pragma once

struct ggml_compute_params;
struct ggml_tensor;

// Computes the result tensor `to` of GGML_OP_UNARY. Calls ggml_compute_forward_unary(), which has the same
// arguments, unless the function is GELU and the values are float32.
extern "C" void sotto_unary(const ggml_compute_params* params, ggml_tensor* to);
