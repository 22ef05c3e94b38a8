#include "core/control/stream_results.hpp"

#include <utility>

#include "base/attempt.hpp"

namespace sotto {
namespace {

// Drops the session's saved KV cache if the job failed to restore it, so that no later job tries again.
void forget_useless(const EnterJob& job, const Stream& stream) noexcept {
    if (job.useless && stream.session != nullptr && stream.session->kept == job.recalls) {
        stream.session->kept.reset();
    }
}

} // namespace

void StreamResults::closed(const Job& job) noexcept {
    job.entry->open_streams -= static_cast<std::uint32_t>(job.closing.size());
    for (const auto& one : job.closing) {
        if (one.session != nullptr) {
            auto& session = *one.session;
            session.kept.reset();
            attempt(
                [&] {
                    session.kept_by = job.entry->submission.id;
                    session.kept_group = one.group;
                    session.kept = one.kept;
                },
                [](sotto_status, const char*) {} // then the session is prefilled again
            );
        }
    }
}

void StreamResults::take(Job& job, bool followed) noexcept {
    auto* open = std::get_if<OpenJob>(&job.what);
    auto* resume = std::get_if<ResumeJob>(&job.what);
    const EnterJob* enter = open != nullptr ? static_cast<EnterJob*>(open) : resume;
    if (enter != nullptr && enter->parks != nullptr) {
        ender_.parked(*enter->parks);
    }
    for (Stream* stream : job.streams) {
        stream->busy = followed;
    }
    if (open != nullptr) {
        opened(job, *open, *job.streams.front());
    } else if (resume != nullptr) {
        resumed(job, *resume, *job.streams.front());
    } else if (const auto* step = std::get_if<StepJob>(&job.what)) {
        for (std::size_t i = 0; i < job.streams.size(); ++i) {
            stepped(job, *step, i);
        }
    }
}

void StreamResults::opened(const Job& job, OpenJob& open, Stream& stream) noexcept {
    forget_useless(open, stream);
    stream.handle = open.opened.stream;
    preparer_.retry();
    if (stream.handle == nullptr) {
        --stream.entry.open_streams;
    }
    if (stream.state == Stream::State::over) {
        ender_.release(stream);
    } else if (job.failure) {
        ender_.fail(stream, job.failure.status, job.failure.why);
    } else if (stream.handle == nullptr) {
        ender_.answer(stream, std::move(open.opened.result));
    } else {
        attempt(
            [&] { stream.opened(open.opened, clock_.now()); },
            [&](sotto_status status, const char* why) { ender_.fail(stream, status, why); }
        );
        meter_.remembered(stream.counts().cached);
    }
}

void StreamResults::resumed(const Job& job, const ResumeJob& resume, Stream& stream) noexcept {
    stream.session = job.failure ? nullptr : stream.session; // after a failure the stream has no slot
    if (stream.state == Stream::State::over) {
        ender_.release(stream);
        return;
    }
    stream.unparked(resume.remaining);
    stream.kv.parked.reset();
    if (job.failure) {
        ender_.fail(stream, job.failure.status, job.failure.why);
    }
}

void StreamResults::stepped(const Job& job, const StepJob& step, std::size_t index) noexcept {
    Stream& stream = *job.streams[index];
    if (stream.state == Stream::State::over) {
        ender_.release(stream);
    } else if (const auto& failure = job.failure ? job.failure : step.failures[index]) {
        ender_.fail(stream, failure.status, failure.why);
    } else {
        attempt(
            [&] { hear(stream, step.work[index], step.increment[index]); },
            [&](sotto_status status, const char* why) { ender_.fail(stream, status, why); }
        );
    }
}

void StreamResults::hear(Stream& stream, const sotto_step_item& work, const AnswerIncrement& increment) {
    const bool first = stream.counts().generated == 0 && work.generated != 0;
    stream.stepped(work.remaining, work.generated != 0, clock_.now());
    if (first) {
        meter_.began(stream.counts().first_token_ms);
    }
    auto& reply = *stream.reply;
    if (reply.op == SOTTO_OP_SAVE_STATE) {
        if (increment.last) { // frees the slot before the file is written
            files_.write(
                reply.slot,
                reply.parsed.path,
                std::move(stream.output.saved_state),
                stream.output.saved_tokens
            );
            reply.over = true;
            ender_.conclude(stream);
        }
        return;
    }
    sender_.send(stream, increment);
    if (increment.last) {
        reply.turn.remember(stream.output.answer.complete()); // if this throws, the request fails
        keep_state(stream);
        sender_.finished(stream, increment);
        ender_.conclude(stream);
    }
}

// Lets the session keep the KV cache when the stream is closed, if the session is pinned or there are more
// sessions than slots: the KV cache in the slot could be lost before the session's next turn.
void StreamResults::keep_state(Stream& stream) const noexcept {
    const bool alone = settings_.is(SOTTO_ENGINE_DETERMINISTIC);
    const bool matters = stream.session != nullptr && stream.session->pinned;
    if (!alone && (matters || sessions_.count() > stream.entry.traits.streams)) {
        stream.kv.keeper = stream.reply->turn.session();
    }
}

} // namespace sotto
