// Implements sotto/stats.h.
#include "api/boundary.hpp"
#include "api/handle.hpp"

using namespace sotto::api;

sotto_status sotto_engine_stats(sotto_engine* engine, sotto_stats* stats) {
    return guarded([&] {
        const auto room = caller_size(stats, "stats");
        write(stats, Pin(engine)->stats(), room);
        return SOTTO_OK;
    });
}
