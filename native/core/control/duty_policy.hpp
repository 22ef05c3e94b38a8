// Limits the time and the cores that models take from the game.
#pragma once

#include <cstdint>

#include "core/control/compute.hpp"
#include "core/control/slice_log.hpp"
#include "core/control/thread_class_policy.hpp"
#include "core/schedule/activity.hpp"
#include "core/schedule/duty_controller.hpp"
#include "core/schedule/frame.hpp"
#include "core/schedule/scheduler.hpp"
#include "core/settings.hpp"
#include "core/telemetry/recorder.hpp"
#include "platform/clock.hpp"

namespace sotto {

// Control thread only.
class DutyPolicy {
public:
    DutyPolicy(
        const Settings& settings,
        const Frames& frames,
        const Clock& clock,
        const ThreadClassPolicy& classes,
        const Compute& compute,
        Recorder& recorder
    );

    // The part of the time that models get, between 0 and 1.
    double share() const noexcept;
    // Returns true while models rest for some frames, to see whether the game misses fewer then.
    bool pauses() const noexcept;
    // What the next slice may cost.
    Limits limits() const noexcept;
    // On how many threads a model's job runs.
    std::uint32_t threads_for(ModelEntry& entry, ThreadClass thread_class) noexcept;
    // How long a step may wait at its gates; 0: it does not wait.
    std::int64_t gate_limit(const Job& job) const noexcept;

    // Called before a step would begin; `has_streams`: there is a stream to work for. Returns true if models
    // rest instead.
    bool rests(bool has_streams) noexcept;
    // When that rest is over, or is to be looked at again; kNever: models do not rest.
    std::int64_t rest_over() const noexcept;
    // Ends the rest, as a job begins. Returns when it began; 0: models did not rest.
    std::int64_t end_rest() noexcept;
    // Says which model the next job runs.
    void begins(const ModelEntry& entry) noexcept;
    // Takes in a job that is done: models rest after it.
    void ended(const Job& job) noexcept;
    // Takes in the frames that are over. `job_since`: when the job under way began; kNever: no job is.
    void take_frames(SliceLog& log, bool has_streams, std::int64_t job_since) noexcept;

private:
    bool yields() const noexcept;
    double min_share() const noexcept;
    bool is_gated(const Job& job) const noexcept;
    DutyController::Terms terms() const noexcept;

    const Settings& settings_;
    const Frames& frames_;
    const Clock& clock_;
    const ThreadClassPolicy& classes_;
    const Compute& compute_;
    Recorder& recorder_;
    DutyController duty_;
    Frames::Reader reader_;
    Activity activity_;
    struct Rest {
        bool is_on = false;     // for that reason no step began, when one was last to
        std::int64_t until = 0; // no step begins before
        std::int64_t since = 0; // 0: models do not rest
    } rest_;
    bool in_the_way_ = false; // threads of the last job do not yield, by its model's nature
};

} // namespace sotto
