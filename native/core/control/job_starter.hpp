// Makes jobs, and hands them over.
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

// The control thread's alone.
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

    // Makes a job on a model, for which its thread is started. Throws before anything has changed.
    std::unique_ptr<Job> make(ModelEntry& entry);
    // Makes a job of what the scheduler chose. Likewise.
    std::unique_ptr<Job> make(const Slice& slice);
    // Hands over a job, which ends a rest.
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

// What a stream's session keeps of it, to be recalled when the stream is opened; or null.
KvStateStore::Kept kept_of(const Stream& stream) noexcept;

} // namespace sotto
