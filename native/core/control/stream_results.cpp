#include "core/control/stream_results.hpp"

#include <algorithm>
#include <utility>

#include "core/control/output_guard.hpp"

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
            session.kept_group = one.group;
            session.kept = one.kept;
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
    } else if (stream.reply->op == SOTTO_OP_SLOTS) {
        ender_.guarded(stream, [&] { slots_done(open.slots, stream); });
    } else if (stream.handle == nullptr) {
        ender_.answer(stream, std::move(open.opened.result));
    } else {
        ender_.guarded(stream, [&] {
            stream.opened(open.opened, clock_.now());
            tell_prefill(stream);
        });
        meter_.remembered(stream.counts().cached);
    }
}

void StreamResults::slots_done(SlotTask& task, Stream& stream) {
    auto& reply = *stream.reply;
    switch (task.action) {
    case SlotAction::list:
        ender_.answer(stream, slot_list(task.uses, stream.entry, streams_, sessions_));
        break;
    case SlotAction::save:
        files_.write(
            reply.slot, reply.parsed.path, std::move(task.saved), task.saved_tokens, reply.parsed.slot
        );
        reply.over = true;
        ender_.conclude(stream);
        break;
    default:
        ender_.answer(stream, std::move(task.response));
    }
}

void StreamResults::resumed(const Job& job, const ResumeJob& resume, Stream& stream) noexcept {
    stream.session = job.failure ? nullptr : stream.session; // after a failure the stream has no slot
    if (stream.state == Stream::State::over) {
        ender_.release(stream);
        return;
    }
    stream.unparked(resume.remaining);
    stream.moved();
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
        ender_.guarded(stream, [&] {
            if (step.work[index].wait_ms != 0) {
                waits_.add(stream, step.work[index].wait_ms, step.wakes);
            } else {
                hear(stream, step.work[index], step.increment[index]);
            }
        });
    }
}

// Reports the prefill of a request's first choice; the others share its prompt.
void StreamResults::tell_prefill(Stream& stream) {
    if (!stream.reply->parsed.return_progress || stream.index != 0) {
        return;
    }
    if (const auto progress = stream.take_progress(clock_.now()); progress && progress->total > 0) {
        sender_.prefilled(stream, *progress);
    }
}

void StreamResults::hear(Stream& stream, const sotto_step_item& work, const AnswerIncrement& increment) {
    const bool first = stream.counts().generated == 0 && work.generated != 0;
    stream.stepped(work.remaining, work.generated != 0, clock_.now());
    stream.note(work);
    stream.counted(work);
    if (first) {
        meter_.began(stream.counts().first_token_ms);
    }
    auto& reply = *stream.reply;
    if (reply.op == SOTTO_OP_SAVE_STATE) {
        if (increment.last) {
            saved(stream);
        }
        return;
    }
    tell_prefill(stream);
    sender_.send(stream, increment);
    if (increment.last) {
        finish(stream, increment);
    }
}

// Sends a saved state, or writes it to its file.
void StreamResults::saved(Stream& stream) {
    auto& reply = *stream.reply;
    auto& output = stream.output;
    if (reply.parsed.path.empty()) {
        auto response = state_json({}, output.saved_tokens, output.saved_state.size());
        sender_.state(reply.slot, std::move(output.saved_state), response);
        ender_.answer(stream, std::move(response));
        return;
    }
    files_.write(reply.slot, reply.parsed.path, std::move(output.saved_state), output.saved_tokens);
    reply.over = true;
    ender_.conclude(stream); // frees the slot before the file is written
}

// Ends a choice whose answer is complete. If guardrails must check it with models, which may need its slot,
// ends the stream at once and the choice when all choices have been checked.
void StreamResults::finish(Stream& stream, const AnswerIncrement& increment) {
    const auto reply = stream.reply;
    EndedChoice choice{stream.index, stream.output.answer.complete(), stream.counts(), increment, false};
    if (reply->guard == nullptr) {
        end(*reply, std::move(choice));
        keep_state(stream);
        ender_.conclude(stream);
        return;
    }
    reply->ended.push_back(std::move(choice));
    if (reply->ended.size() == reply->parsed.answers) {
        check(reply);
    }
    keep_state(stream);
    ender_.conclude(stream);
}

void StreamResults::end(Reply& reply, EndedChoice choice) {
    reply.turn.remember(choice.complete); // if this throws, the request fails
    sender_.finished(reply, std::move(choice));
}

void StreamResults::check(const std::shared_ptr<Reply>& reply) {
    auto texts = texts_of(reply->ended, reply->guard);
    if (texts.is_empty()) {
        return checked(*reply, {});
    }
    checking_.reserve(checking_.size() + 1); // nothing throws after start()
    checks_.start(reply->slot, std::move(texts), [this, reply](const CheckResult& result) {
        std::erase(checking_, reply);
        checked(*reply, result);
    });
    checking_.push_back(reply);
}

// Ends all choices of a request whose answers were checked.
void StreamResults::checked(Reply& reply, const CheckResult& result) noexcept {
    attempt(
        [&] {
            if (result.failure) {
                throw Error(result.failure.status, result.failure.why);
            }
            apply_verdicts(reply.ended, result.verdicts);
            for (auto& choice : reply.ended) {
                if (reply.response != nullptr && choice.replaced) {
                    reply.response->replace(reply.chunked ? std::string() : choice.complete.text);
                }
                end(reply, std::move(choice));
            }
        },
        [&](sotto_status status, const char* why) {
            if (!std::exchange(reply.over, true)) {
                reply.turn.forget();
                sender_.done(reply.slot, status, why, reply.counts.generated);
            }
        }
    );
}

bool StreamResults::drop(const Slot& slot) noexcept {
    const auto found =
        std::ranges::find_if(checking_, [&](const auto& reply) { return &reply->slot == &slot; });
    if (found == checking_.end()) {
        return false;
    }
    const auto reply = std::move(*found);
    checking_.erase(found);
    checks_.drop(slot);
    reply->over = true;
    reply->turn.forget();
    return true;
}

void StreamResults::cancel_checks(std::string_view why) noexcept {
    while (!checking_.empty()) {
        Slot& slot = checking_.back()->slot;
        drop(slot);
        sender_.done(slot, SOTTO_ERROR_CANCELLED, why);
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
