// Implements sotto/trace.h.
#include "api/boundary.hpp"
#include "api/handle.hpp"
#include "core/telemetry/replay.hpp"

using namespace sotto::api;

sotto_status
sotto_engine_read_trace(sotto_engine* engine, sotto_slice* slices, uint32_t capacity, uint32_t* count) {
    return guarded([&] {
        auto& out = deref(count, "count");
        out = 0;
        const Pin pinned(engine);
        if (!pinned->trace().is_kept()) {
            throw sotto::Error(
                SOTTO_ERROR_STATE,
                "the engine keeps no trace: set desc->trace_capacity when you create the engine"
            );
        }
        if (capacity == 0) {
            return SOTTO_OK;
        }
        const auto size = caller_size(slices, "slices");
        auto* bytes = reinterpret_cast<std::byte*>(slices);
        out = pinned->trace().take(capacity, [&](std::uint32_t index, const sotto_slice& slice) {
            write(reinterpret_cast<sotto_slice*>(bytes + index * size), slice, size);
        });
        return SOTTO_OK;
    });
}

sotto_status sotto_replay(sotto_str path, sotto_str* json) {
    return guarded([&] {
        auto& out = deref(json, "json");
        out = {};
        out = lend(sotto::replay(std::string(utf8(path, "path"))));
        return SOTTO_OK;
    });
}
