/* Redirects functions that ggml-cpu.c calls. Included before ggml-cpu.c. */
#pragma once

/* Threads of a graph wait for each other in loops of ggml_thread_cpu_relax(): redirects each iteration to
 * barrier_wait.cpp. The function's definition, which has "(void)" where calls have "()", is renamed. */
void sotto_barrier_turn(void);

#define ggml_thread_cpu_relax(...) SOTTO_RELAX_##__VA_ARGS__(__VA_ARGS__)
#define SOTTO_RELAX_() sotto_barrier_turn()

/* ggml asserts that threads can be started: thread_start.cpp throws instead. */
#if !defined(_WIN32)
#  include <pthread.h>
int sotto_create_thread(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* data);
#  define pthread_create sotto_create_thread
#endif

/* See attention/attention.hpp. */
#define ggml_compute_forward_flash_attn_ext sotto_flash_attention

/* See activation/gelu.hpp. */
#define ggml_compute_forward_unary sotto_unary

/* See matmul/matmul.hpp. */
#if defined SOTTO_HAS_AVX2_MATMUL
#  define llamafile_sgemm sotto_sgemm
#  define ggml_compute_forward_mul_mat_tiled sotto_mul_mat_tiled
#endif
