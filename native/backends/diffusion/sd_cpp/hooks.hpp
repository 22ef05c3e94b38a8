// Redirects functions of ggml that stable-diffusion.cpp calls. Included before each of its sources.
//
// ggml-cpu.h must not be included here: stable-diffusion.cpp defines functions of the same names.
#pragma once

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

namespace sotto::diffusion {

// Computes a graph as the calling thread's Run says; see run.hpp.
ggml_status compute(ggml_backend_t backend, ggml_cgraph* graph);
// As the functions of ggml, and counted by the calling thread's MemoryMeter; see memory_meter.hpp.
bool reserve(ggml_gallocr_t allocator, ggml_cgraph* graph);
bool allocate_graph(ggml_gallocr_t allocator, ggml_cgraph* graph);
void free_allocator(ggml_gallocr_t allocator);
ggml_backend_buffer_t allocate_tensors(ggml_context* context, ggml_backend_t backend);
void free_buffer(ggml_backend_buffer_t buffer);

} // namespace sotto::diffusion

#define ggml_backend_graph_compute sotto::diffusion::compute
#define ggml_gallocr_reserve sotto::diffusion::reserve
#define ggml_gallocr_alloc_graph sotto::diffusion::allocate_graph
#define ggml_gallocr_free sotto::diffusion::free_allocator
#define ggml_backend_alloc_ctx_tensors sotto::diffusion::allocate_tensors
#define ggml_backend_buffer_free sotto::diffusion::free_buffer
// ggml's log is the module's: see guard.hpp.
#define ggml_log_set(...) static_cast<void>(0)
