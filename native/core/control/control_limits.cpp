// How much the models may take from the game, what that comes to, and what is learned from what it came to.
#include <algorithm>

#include "base/attempt.hpp"
#include "core/control/control.hpp"
#include "platform/clock.hpp"
#include "platform/thread.hpp"

namespace sotto {

ThreadClass Control::thread_class() const noexcept {
    const bool leaves = leaving_ || leaves_card_.load(); // somebody waits for what is closed
    const bool normal = comes_first() || avoids_idle_ || leaves;
    return normal ? ThreadClass::normal : ThreadClass::idle;
}

// The class of a model's jobs. A step that cannot be aborted runs in the normal class: a thread of the idle
// class that gets no core would hold the locks of the backend, such as Python's GIL, until it gets one.
ThreadClass Control::thread_class(const ModelEntry& entry) const noexcept {
    return entry.model->info().can(SOTTO_CAPABILITY_ABORTABLE) ? thread_class() : ThreadClass::normal;
}

// Whether the threads of steps yield to the game's: those of the last job. A model on a device computes
// there.
bool Control::yields() const noexcept {
    return !last_in_way_ && compute_.yields(thread_class());
}

// Slices are short where they stand in the game's way. Threads that yield to the game's do not: then they are
// as long as others who want an answer can wait, since short ones cost more.
Limits Control::limits() const noexcept {
    constexpr std::int64_t kMillisecond = 1'000'000;
    constexpr std::int64_t kFirst = 1000 * kMillisecond;
    constexpr std::int64_t kYielding = 160 * kMillisecond;
    constexpr std::int64_t kInTheWay = 25 * kMillisecond;
    constexpr std::int64_t kInTheWayOfGraphics = 8 * kMillisecond;
    Limits limits;
    if (comes_first()) {
        limits.time = kFirst;
    } else if (compute_.yields(thread_class())) {
        limits.time = kYielding;
    } else {
        limits.time = mode() == SOTTO_MODE_PRIORITIZE_GRAPHICS ? kInTheWayOfGraphics : kInTheWay;
    }
    limits.apart = world_.settings.is(SOTTO_ENGINE_DETERMINISTIC);
    return limits;
}

Cores Control::cores(ThreadClass thread_class) const noexcept {
    return {
        .usable = usable_cores(),
        .busy = comes_first() ? 0 : world_.frames.busy_cores(world_.clock.now()),
        .asked = world_.hooks.threads.compute_threads,
        .yields = comes_first() || compute_.yields(thread_class),
        .run_everywhere = comes_first() || idle_.runs_everywhere(),
    };
}

std::uint32_t Control::threads_for(ModelEntry& entry, ThreadClass thread_class) noexcept {
    const auto now = world_.clock.now();
    const auto cores = this->cores(thread_class);
    if (world_.settings.is(SOTTO_ENGINE_DETERMINISTIC)) {
        return cores.asked != 0 ? cores.asked : cores.usable;
    }
    const bool told = !comes_first() && world_.frames.are_told(now);
    const auto max = told ? duty_.threads(cores) : cores.max();
    if (told && duty_.probes()) {
        return max; // for a few frames, of which nothing is learned
    }
    entry.thread_count.set_max(max, now);
    world_.recorder.threads(entry, max, now);
    return entry.thread_count.now();
}

// Without a word of frames, all of the time for threads that yield to the game's; else a fixed part.
double Control::share() const noexcept {
    constexpr double kBlindly[] = {0.5, 1, 0.25}; // by mode
    if (comes_first()) {
        return 1;
    }
    if (world_.frames.are_told(world_.clock.now())) {
        return duty_.duty();
    }
    return compute_.yields(thread_class()) ? 1 : kBlindly[mode()];
}

// Threads that yield cost the game little, and much of what it misses beside them it misses anyway: less time
// for them gave it no fewer misses where that was measured, and a quarter fewer tokens.
double Control::least_share() const noexcept {
    constexpr double kInTheWay = 0.05;
    constexpr double kYielding[] = {0.75, 1, 0.5}; // by mode
    return yields() ? kYielding[mode()] : kInTheWay;
}

// Whether models rest for some frames, to see whether the game misses fewer then.
bool Control::is_kept_from_running() const noexcept {
    return duty_.rests() && !comes_first() && world_.frames.are_told(world_.clock.now());
}

// Where the game leaves as many cores free as a step takes, and where its threads come first anyway, nothing
// is gained by waiting.
bool Control::is_gated(const Job& job) const noexcept {
    const auto now = world_.clock.now();
    if (comes_first() || !world_.frames.are_told(now)) {
        return false;
    }
    const auto busy = world_.frames.busy_cores(now);
    const bool crowded = job.threads + busy > usable_cores();
    const bool in_the_way = mode() == SOTTO_MODE_PRIORITIZE_GRAPHICS && !compute_.yields(job.thread_class);
    return crowded && (in_the_way || world_.settings.is(SOTTO_ENGINE_GATES));
}

// How long a step may wait at its gates. Where other processes keep the game at work without a pause, a rest
// and such a wait would follow each other: the rest is taken off, so that nobody is silent for long.
std::int64_t Control::gate_limit(const Job& job) const noexcept {
    constexpr std::int64_t kMost = 60'000'000;
    constexpr std::int64_t kLeast = 20'000'000;
    if (!is_gated(job)) {
        return 0;
    }
    const auto rested = rested_since_ == 0 ? 0 : world_.clock.now() - rested_since_;
    return std::max(kMost - rested, kLeast);
}

// Threads wait for each other inside a step: where somebody else has the core of one, it takes hundreds of
// times as long. It is better given up and taken again on fewer. Of the first ones nobody knows how long they
// should take; a model that is so large loses that time once.
std::int64_t Control::patience_of(const Job& job) const noexcept {
    constexpr std::int64_t kTimes = 4;
    constexpr std::int64_t kAtLeast = 20'000'000;
    constexpr std::int64_t kUnknown = 250'000'000;
    constexpr std::int64_t kAtMost = 250'000'000; // beyond what was predicted
    const bool repeats = job.entry->model->info().can(SOTTO_CAPABILITY_ABORTABLE);
    if (!repeats || job.threads <= 1 || world_.settings.is(SOTTO_ENGINE_DETERMINISTIC)) {
        return 0; // all it takes
    }
    if (job.predicted <= 0) {
        return job.entry->gave_up ? 0 : kUnknown;
    }
    auto load = job.load;
    if (load.prompt == 0 && load.answers == 1) { // the backend chooses how many draft tokens it verifies
        load.add_answer(static_cast<std::uint32_t>(load.reach), job.entry->most_decoded - 1);
    }
    const auto longest = std::max(job.predicted, job.entry->costs.predict(job.threads, load));
    return longest + std::clamp((kTimes - 1) * longest, kAtLeast, kAtMost);
}

// What a step took tells what the next ones will, and on how many threads they go best.
void Control::learn(const Job& job) noexcept {
    if (!job.steps() || job.failure || job.abort.load()) {
        return;
    }
    StepLoad load;
    for (std::size_t i = 0; i < job.work.size(); ++i) {
        const auto& work = job.work[i];
        if (work.evaluated > 0) {
            load.add_prompt(work.evaluated, job.streams[i]->context());
        } else if (work.generated > 0) {
            load.add_answer(job.streams[i]->context(), work.decoded);
            job.entry->most_decoded = std::max(job.entry->most_decoded, work.decoded);
        }
    }
    const ScheduledModel::Step step = {
        .threads = job.threads,
        .load = load,
        .took = job.ended - job.began - job.gated_ns,
        .ended = job.ended,
        .gave_up = job.gave_up,
    };
    job.entry->learn(step);
    world_.recorder.step(*job.entry, step);
}

// Between steps models rest, so that they have no more than their share. A wait at a gate is such rest.
void Control::rest_after(const Job& job) noexcept {
    constexpr double kMaxRest = 100'000'000; // where nobody else lets models run, they do not stand still
    const auto took = job.ended - job.began - job.gated_ns;
    const auto least = avoids_idle_ ? static_cast<double>(took) / (static_cast<double>(took) + kMaxRest) : 0;
    const double part = std::max(share(), least);
    if (part >= 1 || !job.steps()) {
        return;
    }
    const auto rest = rest_of(part, took);
    rest_until_ = job.ended + rest - job.gated_ns;
    world_.recorder.rest(part, took, rest);
}

void Control::take_frames() noexcept {
    Frame frame;
    while (frames_.next(world_.frames, frame)) {
        slices_.add_frame(frame, mode(), share());
        if (streams_.empty() || frame.period == 0 || comes_first()) {
            continue; // models have no part in it
        }
        const DutyController::Terms terms = {
            least_share(), yields(), cores(yields() ? thread_class() : ThreadClass::normal)
        };
        const auto beside = activity_.during(frame, job_ == nullptr ? kNever : job_->issued);
        duty_.frame(frame, beside, terms);
        world_.recorder.frame(frame, beside, terms, duty_);
    }
    if (is_kept_from_running()) {
        hold_back();
    }
}

void Control::take_paces() noexcept {
    if (!retuned_.exchange(false)) {
        return;
    }
    for (const auto& stream : streams_) {
        if (stream->state != Stream::State::over) {
            const auto& reply = *stream->reply;
            reply.lanes.own_tps.store(reply.slot.target_tps.load(std::memory_order_relaxed));
        }
    }
}

// The class that a model's jobs want, or the other where the system has no thread left for that, for what
// cannot fail. Throws where neither has one.
ThreadClass Control::prepared_class(const ModelEntry& entry) {
    const auto wanted = thread_class(entry);
    const auto other = wanted == ThreadClass::idle ? ThreadClass::normal : ThreadClass::idle;
    try {
        compute_.prepare(wanted);
        return wanted;
    } catch (const Error&) {
        if (!compute_.is_prepared(other)) {
            throw;
        }
        return other;
    }
}

// Fails what a slice is about where no thread can be started for it.
bool Control::has_thread_for(const Slice& slice) noexcept {
    bool has = true;
    const auto& entry = static_cast<Stream&>(*slice.shares.front().stream).entry;
    attempt(
        [&] { compute_.prepare(thread_class(entry)); },
        [&](sotto_status status, const char* why) {
            has = false;
            for (const auto& share : slice.shares) {
                fail(static_cast<Stream&>(*share.stream), status, why);
            }
        }
    );
    return has;
}

} // namespace sotto
