// Creates and starts jobs.
#pragma once

#include <memory>

#include "core/control/compute.hpp"
#include "core/control/duty_policy.hpp"
#include "core/control/slice_log.hpp"
#include "core/control/slot_pins.hpp"
#include "core/control/step_runner.hpp"
#include "core/control/thread_class_policy.hpp"
#include "core/schedule/scheduler.hpp"
#include "core/settings.hpp"

namespace sotto {

// Control thread only.
class JobStarter {
public:
    JobStarter(
        const Settings& settings,
        const StreamTable& streams,
        Compute& compute,
        const ThreadClassPolicy& classes,
        DutyPolicy& duty,
        SliceLog& slices,
        SlotPins& pins,
        StepRunner& runner
    )
        : settings_(settings), streams_(streams), compute_(compute), classes_(classes), duty_(duty),
          slices_(slices), pins_(pins), runner_(runner) {}

    // Creates a job for a model, and starts the thread that
    // the job needs. If make() throws, nothing has changed.
    std::unique_ptr<Job> make(ModelEntry& entry);
    // Creates a job for a slice that the scheduler chose. If make() throws, nothing has changed.
    std::unique_ptr<Job> make(const Slice& slice);
    // Returns true if no job is under way. Otherwise removes the queued step,
    // so that another job can start when the job under way ends.
    bool may_begin() noexcept;
    // Starts a job, and ends the rest if models rest.
    void begin(std::unique_ptr<Job> job) noexcept;

private:
    static void add_step(Job& job, const Slice& slice);
    void add_open(Job& job, const Slice& slice);
    void add_resume(Job& job, const Slice& slice);
    void reserve_for(Job& job, ModelEntry& entry) const;
    static void enter(EnterJob& job, Stream& stream, const Slice& slice) noexcept;

    const Settings& settings_;
    const StreamTable& streams_;
    Compute& compute_;
    const ThreadClassPolicy& classes_;
    DutyPolicy& duty_;
    SliceLog& slices_;
    SlotPins& pins_;
    StepRunner& runner_;
};

// Returns the KV cache that the session of a stream keeps, to be restored
// when the stream is opened; or null if none fits the model and adapters.
KvStateStore::Kept kept_of(const Stream& stream) noexcept;

} // namespace sotto
