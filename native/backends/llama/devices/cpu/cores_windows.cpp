#include "devices/cpu/cores.hpp"

#include <cstdint>
#include <memory>

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

namespace sotto::llama {
namespace {

void become_idle(ggml_tensor*, const ggml_tensor*, int, int, void*) {
    THREAD_POWER_THROTTLING_STATE frugal{};
    frugal.Version = THREAD_POWER_THROTTLING_CURRENT_VERSION;
    frugal.ControlMask = frugal.StateMask = THREAD_POWER_THROTTLING_EXECUTION_SPEED;
    SetThreadInformation(GetCurrentThread(), ThreadPowerThrottling, &frugal, sizeof frugal);
    SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_IDLE);
}

} // namespace

bool is_of_idle_class() noexcept {
    return GetThreadPriority(GetCurrentThread()) == THREAD_PRIORITY_IDLE;
}

void yield_core() noexcept {
    SwitchToThread();
}

void sleep_briefly(std::chrono::microseconds /*time*/) noexcept {
    SwitchToThread();
}

// Computes a graph whose only operation sets the class of the threads: new threads are in the normal class,
// and only a graph can run code on a pool's threads.
void put_into_class(ggml_threadpool* pool, int threads, sotto_thread_class thread_class) {
    if (thread_class != SOTTO_THREAD_IDLE) {
        return;
    }
    struct Free {
        void operator()(ggml_context* context) const noexcept { ggml_free(context); }
    };
    constexpr std::size_t kTensors = 4;
    constexpr std::size_t kNodes = 8;
    const std::unique_ptr<ggml_context, Free> context(ggml_init(
        {kTensors * (ggml_tensor_overhead() + 64) + ggml_graph_overhead_custom(kNodes, false), nullptr, false}
    ));
    if (!context) {
        throw std::bad_alloc();
    }
    auto* number = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, 1);
    auto* graph = ggml_new_graph_custom(context.get(), kNodes, false);
    ggml_build_forward_expand(graph, ggml_map_custom1(context.get(), number, become_idle, threads, nullptr));
    auto plan = ggml_graph_plan(graph, threads, pool);
    std::vector<std::uint8_t> work(plan.work_size);
    plan.work_data = work.data();
    ggml_graph_compute(graph, &plan);
}

std::chrono::nanoseconds thread_cpu_time() noexcept {
    FILETIME created{};
    FILETIME ended{};
    FILETIME kernel{};
    FILETIME user{};
    GetThreadTimes(GetCurrentThread(), &created, &ended, &kernel, &user);
    const auto ticks = [](const FILETIME& time) { // in units of 100 ns
        return std::int64_t{time.dwHighDateTime} << 32 | time.dwLowDateTime;
    };
    return std::chrono::nanoseconds(100 * (ticks(kernel) + ticks(user)));
}

} // namespace sotto::llama
