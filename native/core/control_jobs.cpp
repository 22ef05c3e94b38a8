// What the control thread does with the compute thread and the streams.
#include <algorithm>
#include <utility>

#include "base/attempt.hpp"
#include "core/control.hpp"
#include "platform/thread.hpp"

namespace sotto {
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
    job_class_ = thread_class();
    compute_.prepare(job_class_);
    const auto slice = scheduler_->next(world_.clock.now(), limits());
    if (slice.kind == Slice::Kind::none) {
        return false;
    }
    auto job = std::make_unique<Job>();
    ModelEntry& entry = slice.entry();
    std::vector<Stream*> streams;
    for (const auto& share : slice.shares) {
        streams.push_back(share.stream);
        sotto_work work{};
        work.struct_size = sizeof work;
        work.tokens = share.tokens;
        work.remaining = share.stream->remaining;
        work.stream = share.stream->handle;
        job->work.push_back(work);
        job->streams.push_back(share.stream);
    }
    job->failures.resize(job->work.size());
    if (slice.kind == Slice::Kind::open) {
        job->opens = true;
        job->op = streams.front()->reply->op;
        job->body = &streams.front()->reply->body;
        job->index = streams.front()->index;
        job->path = &streams.front()->reply->prompted.path;
        entry.closing.reserve(entry.closing.size() + entry.open_streams + 1); // so that retire() cannot fail
        ++entry.open_streams;
    }
    job_streams_ = std::move(streams);
    begin(std::move(job), entry);
    return true;
}

bool Control::start_closing() {
    for (const auto& entry : world_.registry.entries()) {
        if (!entry->closing.empty()) {
            job_class_ = thread_class();
            compute_.prepare(job_class_);
            auto job = std::make_unique<Job>();
            job->closing = entry->closing; // a copy, so that what was reserved stays
            entry->closing.clear();
            job_streams_.clear();
            begin(std::move(job), *entry);
            return true;
        }
    }
    return false;
}

void Control::begin(std::unique_ptr<Job> job, ModelEntry& entry) noexcept {
    job->model = entry.model.get();
    job->threads = threads();
    job_ = std::move(job);
    job_entry_ = &entry;
    for (Stream* stream : job_streams_) {
        stream->busy = true;
    }
    compute_.start(*job_, job_class_);
}

bool Control::take_job_back() noexcept {
    if (job_ == nullptr || !compute_.take_back()) {
        return false;
    }
    const auto job = std::move(job_);
    job_entry_->open_streams -= static_cast<std::uint32_t>(job->closing.size());
    job_entry_ = nullptr;
    for (Stream* stream : job_streams_) {
        stream->busy = false;
    }
    for (std::size_t i = 0; i < job_streams_.size(); ++i) {
        Stream& stream = *job_streams_[i];
        if (job->opens) {
            opened(*job, stream);
        } else if (stream.state == Stream::State::over) {
            retire(stream);
        } else if (const auto& failure = job->failure ? job->failure : job->failures[i]) {
            fail(stream, failure.status, failure.why);
        } else {
            attempt(
                [&] { stepped(stream, job->work[i]); },
                [&](sotto_status status, const char* why) { fail(stream, status, why); }
            );
        }
    }
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

void Control::stepped(Stream& stream, const sotto_work& work) {
    stream.stepped(work.remaining, work.generated != 0, world_.clock.now());
    const auto heard = stream.answer.take();
    if (stream.reply->op == SOTTO_OP_SAVE) {
        if (stream.answer.ended()) {
            answered(stream, std::move(stream.saved));
        }
        return;
    }
    teller_.heard(stream, heard);
    if (stream.answer.ended()) {
        teller_.finished(stream, heard.deltas.empty() ? heard.logprobs : std::vector<std::string>());
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
    teller_.done(reply->slot, status, why);
    if (reply->prompted.answers == 1) { // thousands may end at once
        conclude(stream);
        return;
    }
    for (const auto& other : streams_) {
        if (other->reply == reply && other->state != Stream::State::over) {
            conclude(*other);
        }
    }
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
        job_->abort = std::all_of(job_streams_.begin(), job_streams_.end(), [](const Stream* other) {
            return other->state == Stream::State::over;
        });
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
