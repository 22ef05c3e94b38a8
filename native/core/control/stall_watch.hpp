// Reports backend calls that do not return.
#pragma once

#include <cstdint>

#include "base/log.hpp"
#include "core/control/job.hpp"
#include "core/model/registry.hpp"
#include "platform/clock.hpp"

namespace sotto {

// Logs a warning if a backend call has not returned after ten seconds, or after two while
// the engine is being destroyed, and again after each such interval. Such a call cannot
// be ended, and it uses objects that the engine would free. Control thread only.
class StallWatch {
public:
    StallWatch(const Log& log, const Registry& registry, const Clock& clock)
        : log_(log), registry_(registry), clock_(clock) {}

    // Called when the engine starts being destroyed.
    void engine_ends() noexcept { ends_since_ = clock_.now(); }
    // Returns when the next report is due; kNever: no call
    // is under way. `job`: the job under way, or null.
    std::int64_t next_report(const Job* job) const noexcept;
    // Logs a report if one is due. If report() throws, the next report tries again.
    void report(const Job* job);

private:
    bool ends() const noexcept { return ends_since_ != kNever; }
    const ModelEntry* awaited(const Job* job) const noexcept;
    std::int64_t since(const Job* job) const noexcept;

    const Log& log_;
    const Registry& registry_;
    const Clock& clock_;
    std::int64_t ends_since_ = kNever; // when the engine's destruction started; kNever: it has not
    std::int64_t reported_ = 0;
};

} // namespace sotto
