/* Read before ggml-cpu.c, whose threads wait for each other in loops of ggml_thread_cpu_relax(): each turn of
 * such a loop becomes a call of barrier_wait.cpp. The function's definition, which has "(void)" where calls
 * have
 * "()", gets another name. */
#pragma once

void sotto_barrier_turn(void);

#define ggml_thread_cpu_relax(...) SOTTO_RELAX_##__VA_ARGS__(__VA_ARGS__)
#define SOTTO_RELAX_() sotto_barrier_turn()
