// What our module puts in the place of some functions of llama.cpp's, as llama.cpp itself has them.
#include "runtime/forked.hpp"

#include <ggml-backend.h>

extern "C" ggml_status sotto_compute_graph(ggml_backend_sched_t schedule, ggml_cgraph* graph) {
    return ggml_backend_sched_graph_compute_async(schedule, graph);
}

namespace sotto::llama {

bool lock_for_fork(std::mutex& /*mutex*/) noexcept {
    return true;
}

} // namespace sotto::llama
