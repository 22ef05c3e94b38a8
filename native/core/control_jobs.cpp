// What the control thread does with the compute thread and the streams.
#include <algorithm>
#include <utility>

#include "base/attempt.hpp"
#include "core/control.hpp"
#include "platform/thread.hpp"

namespace sotto {
namespace {

sotto_slice slice_of(const Job& job) noexcept {
    sotto_slice slice{};
    slice.begin_ns = static_cast<std::uint64_t>(job.began);
    slice.end_ns = static_cast<std::uint64_t>(job.ended);
    slice.streams = static_cast<std::uint32_t>(job.streams.size());
    slice.threads = job.opens ? 1 : job.threads;
    slice.mode = job.mode;
    for (const auto& work : job.work) {
        slice.prompt_tokens += work.evaluated;
        slice.generated_tokens += work.generated;
    }
    slice.kind = job.opens                 ? SOTTO_SLICE_OPEN
                 : slice.prompt_tokens > 0 ? SOTTO_SLICE_PROMPT
                                           : SOTTO_SLICE_DECODE;
    return slice;
}

} // namespace

ThreadClass Control::thread_class() const noexcept {
    const bool first = world_.settings.mode.load() == SOTTO_MODE_PRIORITIZE_COMPUTE;
    return first ? ThreadClass::normal : ThreadClass::idle;
}
Limits Control::limits() const noexcept {
    switch (world_.settings.mode.load()) {
    case SOTTO_MODE_PRIORITIZE_COMPUTE:
        return {.prompt_tokens = 512};
    case SOTTO_MODE_PRIORITIZE_GRAPHICS:
        return {.prompt_tokens = 32};
    default:
        return {.prompt_tokens = 128};
    }
}

std::uint32_t Control::threads() const noexcept {
    const auto cores = usable_cores();
    const auto most = world_.hooks.threads.compute_threads;
    const auto busy = world_.settings.mode.load() == SOTTO_MODE_PRIORITIZE_COMPUTE
                          ? 0
                          : world_.frames.busy_cores(world_.clock.now());
    const auto free = cores > busy ? cores - busy : 1;
    return most == 0 ? free : std::min(most, free);
}

// Throws before anything has begun, or not at all.
bool Control::start_job() {
    if (job_ != nullptr) {
        return false;
    }
    if (start_closing()) {
        return true;
    }
    if (streams_.empty()) {
        return false;
    }
    compute_.prepare(thread_class());
    const auto slice = scheduler_->next(world_.clock.now(), limits());
    if (slice.kind == Slice::Kind::none) {
        return false;
    }
    begin(job_of(slice));
    look_ahead();
    return true;
}

bool Control::start_closing() {
    for (const auto& entry : world_.registry.entries()) {
        if (!entry->closing.empty()) {
            compute_.prepare(thread_class());
            auto job = job_of(*entry);
            job->closing = entry->closing; // a copy, so that what was reserved stays
            entry->closing.clear();
            begin(std::move(job));
            return true;
        }
    }
    return false;
}

std::unique_ptr<Job> Control::job_of(ModelEntry& entry) const {
    auto job = std::make_unique<Job>();
    job->entry = &entry;
    job->thread_class = thread_class();
    job->threads = threads();
    job->mode = world_.settings.mode.load();
    return job;
}

std::unique_ptr<Job> Control::job_of(const Slice& slice) const {
    auto& entry = slice.entry();
    auto job = job_of(entry);
    for (const auto& share : slice.shares) {
        sotto_work work{};
        work.struct_size = sizeof work;
        work.tokens = share.tokens;
        work.remaining = share.stream->remaining;
        work.stream = share.stream->handle;
        job->work.push_back(work);
        job->streams.push_back(share.stream);
    }
    job->heard.resize(job->work.size());
    job->failures.resize(job->work.size());
    if (slice.kind == Slice::Kind::open) {
        const auto& stream = *job->streams.front();
        job->opens = true;
        job->op = stream.reply->op;
        job->body = &stream.reply->body;
        job->index = stream.index;
        job->path = &stream.reply->prompted.path;
        entry.closing.reserve(entry.closing.size() + entry.open_streams + 1); // so that retire() cannot fail
        ++entry.open_streams;
    }
    return job;
}

void Control::begin(std::unique_ptr<Job> job) noexcept {
    job_ = std::move(job);
    for (Stream* stream : job_->streams) {
        stream->busy = true;
    }
    compute_.start(*job_);
}

// Has the compute thread go on by itself where there is nothing else to do: to ask here before each token
// costs more time than the smallest models need for it.
void Control::look_ahead() noexcept {
    const auto closes = [](const auto& entry) { return !entry->closing.empty(); };
    const auto& entries = world_.registry.entries();
    const bool steps = job_ != nullptr && !job_->opens && !job_->work.empty();
    if (!steps || std::any_of(entries.begin(), entries.end(), closes) ||
        !scheduler_->goes_on(world_.clock.now())) {
        return;
    }
    const auto body = [&] {
        Slice slice{Slice::Kind::step, {}};
        for (Stream* stream : job_->streams) {
            slice.shares.push_back({stream, 0});
        }
        next_ = job_of(slice);
        next_->thread_class = job_->thread_class;
        compute_.follow_with(*next_);
    };
    attempt(body, [](sotto_status, const char*) {}); // it is only later by the way through here
}

void Control::hold_back() noexcept {
    if (next_ != nullptr && compute_.hold_back(*next_)) {
        next_.reset();
    }
}

bool Control::take_job_back() noexcept {
    if (job_ == nullptr || !job_->done.load(std::memory_order_acquire)) {
        return false;
    }
    const auto job = std::move(job_);
    if (job->followed) {
        job_ = std::move(next_);
    } else {
        hold_back();
    }
    if (world_.trace.is_kept() && !job->streams.empty()) {
        world_.trace.add(slice_of(*job));
    }
    job->entry->open_streams -= static_cast<std::uint32_t>(job->closing.size());
    for (Stream* stream : job->streams) {
        stream->busy = job_ != nullptr;
    }
    for (std::size_t i = 0; i < job->streams.size(); ++i) {
        Stream& stream = *job->streams[i];
        if (job->opens) {
            opened(*job, stream);
        } else if (stream.state == Stream::State::over) {
            retire(stream);
        } else if (const auto& failure = job->failure ? job->failure : job->failures[i]) {
            fail(stream, failure.status, failure.why);
        } else {
            attempt(
                [&] { stepped(stream, job->work[i], job->heard[i]); },
                [&](sotto_status status, const char* why) { fail(stream, status, why); }
            );
        }
    }
    look_ahead();
    return true;
}

void Control::opened(Job& job, Stream& stream) noexcept {
    stream.handle = job.opened.stream;
    if (stream.handle == nullptr) {
        --stream.entry.open_streams;
    }
    if (stream.state == Stream::State::over) {
        retire(stream);
    } else if (job.failure) {
        fail(stream, job.failure.status, job.failure.why);
    } else if (stream.handle == nullptr) {
        answered(stream, std::move(job.opened.result));
    } else {
        attempt(
            [&] { stream.opened(job.opened, world_.clock.now()); },
            [&](sotto_status status, const char* why) { fail(stream, status, why); }
        );
    }
}

void Control::stepped(Stream& stream, const sotto_work& work, const Heard& heard) {
    stream.stepped(work.remaining, work.generated != 0, world_.clock.now());
    if (stream.reply->op == SOTTO_OP_SAVE) {
        if (heard.last) {
            answered(stream, std::move(stream.saved));
        }
        return;
    }
    teller_.heard(stream, heard);
    if (heard.last) {
        teller_.finished(stream, heard);
        conclude(stream);
    }
}

// Ends a request that is no completion.
void Control::answered(Stream& stream, std::string response) noexcept {
    stream.reply->over = true;
    teller_.answered(stream.reply->slot, std::move(response));
    conclude(stream);
}

// Ends a request, with all the streams that answer it.
void Control::fail(Stream& stream, sotto_status status, std::string_view why) noexcept {
    const auto reply = stream.reply;
    if (std::exchange(reply->over, true)) {
        return;
    }
    if (reply->prompted.answers == 1) { // thousands may end at once
        teller_.done(reply->slot, status, why, stream.counts().generated);
        conclude(stream);
        return;
    }
    auto tokens = reply->counts.generated;
    for (const auto& other : streams_) {
        if (other->reply == reply && other->state != Stream::State::over) {
            tokens += other->counts().generated;
            conclude(*other);
        }
    }
    teller_.done(reply->slot, status, why, tokens);
}

// The host has heard the last of it.
void Control::conclude(Stream& stream) noexcept {
    stream.state = Stream::State::over;
    scheduler_->remove(stream);
    retire(stream);
}

// Gives back what a stream that is over still holds. Is that in a job, the job is told to end, once
// nobody wants it any more.
void Control::retire(Stream& stream) noexcept {
    if (stream.busy) {
        const auto over = [](const Stream* other) { return other->state == Stream::State::over; };
        const bool unwanted = std::all_of(job_->streams.begin(), job_->streams.end(), over);
        for (Job* job : {job_.get(), next_.get()}) {
            if (job != nullptr) {
                job->abort = unwanted;
            }
        }
    } else if (stream.handle != nullptr) {
        stream.entry.closing.push_back(std::exchange(stream.handle, nullptr));
    }
}

void Control::sweep() noexcept {
    std::erase_if(streams_, [](const auto& stream) {
        return stream->state == Stream::State::over && !stream->busy;
    });
}

void Control::retune() noexcept {
    const auto target = world_.settings.target_tps.load();
    if (target != std::exchange(target_tps_, target)) {
        for (const auto& stream : streams_) {
            stream->retune(target, world_.clock.now());
        }
    }
}

} // namespace sotto
