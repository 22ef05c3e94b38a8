#include "core/control/job_dispatch.hpp"

#include <algorithm>
#include <utility>

#include "base/attempt.hpp"
#include "core/control/step_time.hpp"

namespace sotto {
namespace {

// The control thread adds only objects of class Stream to the scheduler.
Stream& first_stream_of(const Slice& slice) noexcept {
    return static_cast<Stream&>(*slice.shares.front().stream);
}

// Releases the request that a backend prepared, if the job failed before it opened the stream.
void discard_unopened(Job& job) noexcept {
    if (auto* open = std::get_if<OpenJob>(&job.what); open != nullptr && open->prepared != nullptr) {
        job.entry->model->close_prepared(std::exchange(open->prepared, nullptr));
    }
}

} // namespace

JobDispatch::JobDispatch(
    const World& world, ActiveStreams& streams, const DeviceMoves& moves, Signal& wake, Fail fail
)
    : settings_(world.settings), clock_(world.clock), registry_(world.registry), recorder_(world.recorder),
      streams_(streams), fail_(std::move(fail)), slices_(world.trace, world.meter),
      compute_(world.hooks, world.clock, world.frames, world.kv_states, world.ledger, wake),
      classes_(world.hooks, world.settings, world.frames, world.clock, moves, wake),
      duty_(world.settings, world.frames, world.clock, classes_, compute_, world.recorder),
      runner_(compute_, classes_, world.settings, world.clock),
      starter_(world.settings, streams.table(), compute_, classes_, duty_, slices_, streams.pins(), runner_) {
}

bool JobDispatch::start() {
    if (duty_.rests(!streams_.is_empty()) || streams_.is_empty()) {
        return false;
    }
    if (!classes_.settle(compute_.yields(ThreadClass::idle))) {
        return false;
    }
    streams_.scheduler().look();
    const auto slice = streams_.scheduler().next(clock_.now(), duty_.limits());
    if (slice.kind == Slice::Kind::none) {
        return false;
    }
    if (awaits(slice) || !has_thread_for(slice)) {
        return true;
    }
    auto job = starter_.make(slice);
    if (auto* step = std::get_if<StepJob>(&job->what)) {
        step->wakes = streams_.waits().wakes();
    }
    starter_.begin(std::move(job));
    look_ahead();
    return true;
}

// Starts the thread that a slice needs. If that fails, fails the streams of the slice and returns false:
// they would otherwise wait for as long as the system has no thread.
bool JobDispatch::has_thread_for(const Slice& slice) noexcept {
    bool has = true;
    attempt(
        [&] { compute_.prepare(classes_.of(first_stream_of(slice).entry)); },
        [&](sotto_status status, const char* why) {
            has = false;
            for (const auto& share : slice.shares) {
                fail_(static_cast<Stream&>(*share.stream), status, why);
            }
        }
    );
    return has;
}

// Returns true if the stream that is to get a slot must wait until the slot that its request names is free,
// or until its saved KV cache is read. Other streams continue meanwhile.
bool JobDispatch::awaits(const Slice& slice) {
    if (slice.kind != Slice::Kind::open && slice.kind != Slice::Kind::unpark) {
        return false;
    }
    auto& stream = first_stream_of(slice);
    if (streams_.slot_waits().must_wait(stream, slice.parks)) {
        return true;
    }
    return streams_.fetches().must_wait(
        stream, slice.kind == Slice::Kind::unpark ? stream.kv.parked : kept_of(stream)
    );
}

bool JobDispatch::may_look_ahead() const noexcept {
    const auto closes = [](const auto& entry) { return !entry->slots.closing.empty(); };
    const bool steps = !runner_.is_idle() && is_step(*runner_.job());
    return steps && !runner_.has_next() && std::ranges::none_of(registry_.entries(), closes) &&
           duty_.share() >= 1 && !duty_.pauses() && !settings_.is(SOTTO_ENGINE_DETERMINISTIC);
}

void JobDispatch::look_ahead() {
    if (!may_look_ahead()) {
        return;
    }
    streams_.scheduler().look();
    if (!streams_.scheduler().goes_on(clock_.now())) {
        return;
    }
    Slice slice;
    slice.kind = Slice::Kind::step;
    for (Stream* stream : runner_.job()->streams) {
        slice.shares.push_back({stream, 0});
        slice.load.add_answer(stream->context() + 1);
    }
    auto next = starter_.make(slice);
    std::get<StepJob>(next->what).wakes = streams_.waits().wakes();
    runner_.follow_with(std::move(next));
}

std::unique_ptr<Job> JobDispatch::take_done() noexcept {
    auto job = runner_.take_done();
    if (job != nullptr) {
        job->entry->served_ns += job->ended - job->began;
        discard_unopened(*job);
        slices_.add(*job);
        learn_step(*job, recorder_);
        classes_.learn(*job);
        duty_.ended(*job);
    }
    return job;
}

void JobDispatch::take_frames() noexcept {
    duty_.take_frames(slices_, !streams_.is_empty(), runner_.since());
    if (duty_.pauses()) {
        runner_.hold_back();
    }
}

std::int64_t JobDispatch::next_probe() const noexcept {
    return streams_.is_empty() ? kNever : classes_.next_wake();
}

std::int64_t JobDispatch::next_start() noexcept {
    constexpr std::int64_t kListenEvery = 100'000'000;
    const auto now = clock_.now();
    streams_.scheduler().look();
    const auto rested = duty_.rest_over();
    const auto due = rested != kNever ? rested : streams_.scheduler().wake(now);
    const bool listens = slices_.has_trace() && duty_.hears_frames(); // so that the trace misses no frame
    return std::min(
        {due,
         streams_.fetches().next_timeout(),
         streams_.waits().next_timeout(),
         listens ? now + kListenEvery : kNever}
    );
}

} // namespace sotto
