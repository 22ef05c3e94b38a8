// Reports calls of a backend that do not return.
#pragma once

#include <cstdint>

#include "base/log.hpp"
#include "core/control/job.hpp"
#include "core/model/registry.hpp"
#include "platform/clock.hpp"

namespace sotto {

// Control thread only. Nothing can end such a call, and it uses what the engine would free: a report
// is logged after ten seconds, or after two while the engine is being destroyed, and again after as long.
class StallWatch {
public:
    StallWatch(const Log& log, const Registry& registry, const Clock& clock)
        : log_(log), registry_(registry), clock_(clock) {}

    // Says that the engine is being destroyed.
    void engine_ends() noexcept { ends_since_ = clock_.now(); }
    // When the next report is due; kNever: no call is under way. `job`: the job under way, or null.
    std::int64_t next_report(const Job* job) const noexcept;
    // Logs the report that is due, if one is.
    void report(const Job* job) noexcept;

private:
    bool ends() const noexcept { return ends_since_ != kNever; }
    const ModelEntry* awaited(const Job* job) const noexcept;
    std::int64_t since(const Job* job) const noexcept;

    const Log& log_;
    const Registry& registry_;
    const Clock& clock_;
    std::int64_t ends_since_ = kNever; // kNever: not yet
    std::int64_t reported_ = 0;
};

} // namespace sotto
