// Implements sotto/frame.h.
#include <algorithm>
#include <cmath>

#include "api/boundary.hpp"
#include "api/handle.hpp"

using namespace sotto::api;

namespace {

float checked_ms(float ms, const char* name) {
    if (!std::isfinite(ms) || ms < 0) {
        throw sotto::invalid_argument(name, std::to_string(ms), "0 or a positive number");
    }
    return ms;
}

std::int64_t time_of(std::uint64_t time_ns, const Pin& engine, const char* name) {
    if (time_ns > INT64_MAX) {
        throw sotto::invalid_argument(
            name, std::to_string(time_ns), "a time of the monotonic clock, or 0 for now"
        );
    }
    const auto now = engine->clock().now(); // a time in the future counts as now
    return time_ns != 0 ? std::min(static_cast<std::int64_t>(time_ns), now) : now;
}

} // namespace

sotto_status sotto_engine_frame_begin(sotto_engine* engine, const sotto_frame_begin_desc* frame) {
    return guarded([&] {
        const Pin pinned(engine);
        const auto requested = frame != nullptr ? read(frame, "frame") : sotto_frame_begin_desc{};
        const auto time = time_of(requested.time_ns, pinned, "frame->time_ns");
        pinned->frames().begin(time, requested.busy_cores, requested.period_ns);
        return SOTTO_OK;
    });
}

sotto_status sotto_engine_frame_end(sotto_engine* engine, const sotto_frame_end_desc* frame) {
    return guarded([&] {
        const Pin pinned(engine);
        const auto requested = frame != nullptr ? read(frame, "frame") : sotto_frame_end_desc{};
        const auto time = time_of(requested.time_ns, pinned, "frame->time_ns");
        const auto busy = checked_ms(requested.busy_ms, "frame->busy_ms");
        pinned->frames().end(time, busy, checked_ms(requested.gpu_ms, "frame->gpu_ms"));
        return SOTTO_OK;
    });
}
