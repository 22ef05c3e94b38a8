// Limits the share of the time and of the cores that models take from the game.
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

    // Returns the share of the time that models get, between 0 and 1.
    double share() const noexcept;
    // Returns true while models rest for some frames, to
    // measure whether the game misses fewer frames then.
    bool pauses() const noexcept;
    // Returns true while the game reports its frames.
    bool hears_frames() const noexcept { return frames_.are_told(clock_.now()); }
    // Returns the limits of the next slice.
    Limits limits() const noexcept;
    // Returns the number of threads for a model's job.
    std::uint32_t threads_for(ModelEntry& entry, ThreadClass thread_class) noexcept;
    // Returns the maximum time in ns that a step waits at its gates; 0: it does not wait.
    std::int64_t gate_limit(const Job& job) const noexcept;

    // Called before a step would start. Returns true if models
    // rest instead. `has_streams`: there are streams to run.
    bool rests(bool has_streams) noexcept;
    // Returns when the rest ends, or must be checked again; kNever: models do not rest.
    std::int64_t rest_over() const noexcept;
    // Ends the rest, because a job starts. Returns when the rest started; 0: models did not rest.
    std::int64_t end_rest() noexcept;
    // Sets the model that the next job runs.
    void begins(const ModelEntry& entry) noexcept;
    // Processes a finished job. After a step, models rest as long as their share requires.
    void ended(const Job& job) noexcept;
    // Processes the game's frames that have ended, and adds them to `log`.
    // `job_since`: when the job under way started; kNever: none.
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
        bool is_on = false;     // as of the last call of rests()
        std::int64_t until = 0; // no step starts before this time
        std::int64_t since = 0; // start of the rest; 0: no rest
    } rest_;
    bool in_the_way_ = false; // the last job's model computes on the CPU and cannot abort a step
};

} // namespace sotto
