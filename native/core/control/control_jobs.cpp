// Jobs of the control thread: starts the next job, and processes the results of finished jobs.
#include <algorithm>
#include <utility>

#include "base/attempt.hpp"
#include "core/control/control.hpp"
#include "core/control/step_time.hpp"

namespace sotto {

// Starts the next job if one can start now. Returns true if
// anything changed. If it throws, nothing has started.
bool Control::start_job() {
    if (!runner_.is_idle()) {
        return false;
    }
    if (start_closing()) {
        return true;
    }
    if (duty_.rests(!streams_.is_empty()) || streams_.is_empty()) {
        return false;
    }
    if (!classes_.settle(compute_.yields(ThreadClass::idle))) {
        return false;
    }
    scheduler_.look();
    const auto slice = scheduler_.next(world_.clock.now(), duty_.limits());
    if (slice.kind == Slice::Kind::none) {
        return false;
    }
    if (awaits_fetch(slice) || !has_thread_for(slice)) {
        return true;
    }
    jobs_.begin(jobs_.make(slice));
    look_ahead();
    return true;
}

// Starts a job that closes streams, frees unloaded adapters that no request
// uses, and loads the next adapter. Returns false if no model needs one.
bool Control::start_closing() {
    for (const auto& entry : world_.registry.entries()) {
        if (entry->closing.empty() && !AdapterChanges::need_job(*entry)) {
            continue;
        }
        auto job = jobs_.make(*entry);
        job->closing = entry->closing; // a copy, which keeps the reserved capacity
        adapters_.add_to(*job, *entry);
        entry->closing.clear();
        jobs_.begin(std::move(job));
        return true;
    }
    return false;
}

// Starts the thread that a slice needs. If that fails,
// fails the streams of the slice and returns false.
bool Control::has_thread_for(const Slice& slice) noexcept {
    bool has = true;
    const auto& entry = static_cast<Stream&>(*slice.shares.front().stream).entry;
    attempt(
        [&] { compute_.prepare(classes_.of(entry)); },
        [&](sotto_status status, const char* why) {
            has = false;
            for (const auto& share : slice.shares) {
                ender_.fail(static_cast<Stream&>(*share.stream), status, why);
            }
        }
    );
    return has;
}

// Returns true if the stream that is to get a slot must wait until
// its saved KV cache is read. Other streams continue meanwhile.
bool Control::awaits_fetch(const Slice& slice) {
    if (slice.kind != Slice::Kind::open && slice.kind != Slice::Kind::unpark) {
        return false;
    }
    auto& stream = static_cast<Stream&>(*slice.shares.front().stream);
    return fetches_.must_wait(stream, slice.kind == Slice::Kind::unpark ? stream.kept : kept_of(stream));
}

// Queues the next step if nothing else is due, so that the compute thread continues by itself: with
// the smallest models, a round trip to this thread before each token takes longer than the token.
void Control::look_ahead() noexcept {
    const auto closes = [](const auto& entry) { return !entry->closing.empty(); };
    const auto& entries = world_.registry.entries();
    const bool steps = !runner_.is_idle() && is_step(*runner_.job());
    if (!steps || runner_.has_next() || std::any_of(entries.begin(), entries.end(), closes) ||
        duty_.share() < 1 || duty_.pauses() || world_.settings.is(SOTTO_ENGINE_DETERMINISTIC)) {
        return;
    }
    scheduler_.look();
    if (!scheduler_.goes_on(world_.clock.now())) {
        return;
    }
    const auto body = [&] {
        Slice slice;
        slice.kind = Slice::Kind::step;
        for (Stream* stream : runner_.job()->streams) {
            slice.shares.push_back({stream, 0});
            slice.load.add_answer(stream->context() + 1);
        }
        runner_.follow_with(jobs_.make(slice));
    };
    attempt(body, [](sotto_status, const char*) {}); // then the step starts later, from start_job()
}

bool Control::take_job_back() noexcept {
    const auto job = runner_.take_done();
    if (job == nullptr) {
        return false;
    }
    job->entry->served_ns += job->ended - job->began;
    if (auto& failure = job->failure; failure.status == SOTTO_ERROR_DEVICE) {
        const auto lose = [&] {
            auto& entry = *job->entry;
            if (entry.device.load() == 0) {
                entry.device = world_.card.own(); // its backend's name named no device
            }
            world_.card.lose(entry.device.load(), failure.why);
            failure.why = "the device was lost: submit the request again (" + failure.why + ")";
        };
        attempt(lose, [](sotto_status, const char*) {}); // the next step on it reports this again
    }
    if (auto* open = std::get_if<OpenJob>(&job->what); open != nullptr && open->prepared != nullptr) {
        job->entry->model->close_prepared(
            std::exchange(open->prepared, nullptr)
        ); // the stream was not opened
    }
    slices_.add(*job);
    learn_step(*job, world_.recorder);
    classes_.learn(*job);
    duty_.ended(*job);
    StreamResults::closed(*job);
    if (auto* load = std::get_if<AdapterJob>(&job->what)) {
        adapters_.loaded(*job, *load);
    }
    if (auto* resize = std::get_if<ResizeJob>(&job->what)) {
        resizer_.resized(*job, *resize);
        return true;
    }
    results_.take(*job, !runner_.is_idle());
    look_ahead();
    return true;
}

} // namespace sotto
