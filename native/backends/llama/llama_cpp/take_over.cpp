// Redirects llama.cpp's log to the host, and the computation of its graphs to guarded calls.
#include "llama_cpp/take_over.hpp"

#include "runtime/guard.hpp"

#include <ggml-backend.h>
#include <llama.h>
#include <mutex>

namespace sotto::llama {

void take_over_llama_cpp() {
    take_over_ggml();
    static std::once_flag once;
    std::call_once(once, [] {
        ggml_log_callback on_log = nullptr;
        void* data = nullptr;
        ggml_log_get(&on_log, &data);
        llama_log_set(on_log, data);
        llama_backend_init();
    });
}

} // namespace sotto::llama

// llama.cpp calls this instead of ggml_backend_sched_graph_compute_async(). While llama.cpp prepares a batch,
// outside of this function, no worker thread waits for this thread, so a failed assertion may unwind.
extern "C" ggml_status sotto_compute_graph(ggml_backend_sched_t schedule, ggml_cgraph* graph) {
    using namespace sotto::llama;
    auto* around = Call::current();
    if (around == nullptr) {
        return ggml_backend_sched_graph_compute_async(schedule, graph);
    }
    Call call(around->host(), Call::Abort::Dies);
    call.expect_below(around->expected_below());
    const auto status = ggml_backend_sched_graph_compute_async(schedule, graph);
    around->expect_below(call.expected_below()); // keeps the level that the gate set if it aborted a step
    return status;
}
