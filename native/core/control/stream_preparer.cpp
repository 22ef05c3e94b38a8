#include "core/control/stream_preparer.hpp"

#include <algorithm>
#include <utility>

#include "base/attempt.hpp"

namespace sotto {

bool StreamPreparer::start() noexcept {
    bool any = false;
    while (may_start_ && threads_.has_room(false)) {
        auto* next = scheduler_.next_unprepared(clock_.now(), threads_.has_room(true));
        may_start_ = next != nullptr;
        if (next != nullptr) {
            auto& stream = static_cast<Stream&>(*next); // the scheduler holds only objects of class Stream
            attempt(
                [&] { prepare(stream); },
                [&](sotto_status, const char*) {
                    stream.preparation.task.reset();
                    stream.unprepared = false; // the compute thread prepares the request instead
                }
            );
            scheduler_.changed(stream);
            any = true;
        }
    }
    return any;
}

void StreamPreparer::prepare(Stream& stream) {
    streams_.reserve(streams_.size() + 1);
    stream.preparation.task = std::make_unique<PreparingTask>();
    auto& task = *stream.preparation.task;
    const auto flags = stream_flags(settings_);
    task.is_large = stream.terms.large;
    task.body = [&stream, &task, flags] {
        const auto& reply = *stream.reply;
        auto& model = *stream.entry.model;
        stream.preparation.request = model.prepare(reply.op, reply.body, stream.index, flags, task.cancelled);
    };
    threads_.begin(task, !settings_.prioritizes_compute()); // nothing throws from here on
    streams_.push_back(&stream);
    stream.busy = true;
    ++stream.entry.requests.preparing;
}

StreamPreparer::Done StreamPreparer::take_done() noexcept {
    const auto is_done = [](const Stream* stream) {
        return stream->preparation.task->done.load(std::memory_order_acquire);
    };
    const auto found = std::ranges::find_if(streams_, is_done);
    if (found == streams_.end()) {
        return {};
    }
    auto& stream = **found;
    streams_.erase(found);
    auto failure = std::move(std::exchange(stream.preparation.task, nullptr)->failure);
    --stream.entry.requests.preparing;
    stream.unprepared = stream.busy = false;
    may_start_ = true; // a thread is free
    return {&stream, std::move(failure)};
}

void discard_prepared(Stream& stream) noexcept {
    if (stream.preparation.task != nullptr) {
        stream.preparation.task->cancelled = true;
    } else if (void* prepared = std::exchange(stream.preparation.request.handle, nullptr)) {
        stream.entry.model->close_prepared(prepared);
    }
}

sotto_stream_flags stream_flags(const Settings& settings) noexcept {
    return settings.is(SOTTO_ENGINE_DETERMINISTIC) ? SOTTO_STREAM_ALONE : 0;
}

} // namespace sotto
