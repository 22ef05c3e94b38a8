#include "core/first_come.hpp"

#include <algorithm>

#include "platform/clock.hpp"

namespace sotto {
namespace {

bool has_room(const ModelEntry& entry) {
    return entry.open_streams < entry.model->info().streams;
}

// Whether a stream that waits may be opened.
bool may_open(const Stream& stream) {
    return stream.at_once || has_room(stream.entry);
}

bool is_due(const Stream& stream, std::int64_t now) {
    switch (stream.state) {
    case Stream::State::waiting:
        return may_open(stream);
    case Stream::State::prompting:
        return true;
    case Stream::State::speaking:
        return stream.pacer.due() <= now;
    case Stream::State::over:
        break;
    }
    return false;
}

} // namespace

void FirstCome::add(Stream& stream) {
    streams_.push_back(&stream);
}

void FirstCome::remove(Stream& stream) {
    if (const auto found = std::find(streams_.begin(), streams_.end(), &stream); found != streams_.end()) {
        streams_.erase(found);
    }
}

Slice FirstCome::next(std::int64_t now, const Limits& limits) {
    ModelEntry* entry = next_model(now);
    if (entry == nullptr) {
        return {};
    }
    auto slice = open_slice(*entry);
    if (slice.kind == Slice::Kind::none) {
        slice = step_slice(*entry, now, limits);
    }
    entry->served = ++slices_;
    for (const auto& share : slice.shares) {
        share.stream->served = slices_;
    }
    return slice;
}

bool FirstCome::goes_on(std::int64_t now) const {
    return std::all_of(streams_.begin(), streams_.end(), [&](const Stream* stream) {
        const bool speaks = stream->state == Stream::State::speaking && !stream->pacer.has_rate();
        return stream->busy ? speaks : !is_due(*stream, now);
    });
}

std::int64_t FirstCome::wake() const {
    auto earliest = kNever;
    for (const Stream* stream : streams_) {
        if (stream->state == Stream::State::speaking) {
            earliest = std::min(earliest, stream->pacer.due());
        }
    }
    return earliest;
}

ModelEntry* FirstCome::next_model(std::int64_t now) const {
    ModelEntry* next = nullptr;
    for (const Stream* stream : streams_) {
        if (is_due(*stream, now) && (next == nullptr || stream->entry.served < next->served)) {
            next = &stream->entry;
        }
    }
    return next;
}

Slice FirstCome::open_slice(const ModelEntry& entry) const {
    for (Stream* stream : streams_) {
        if (&stream->entry == &entry && stream->state == Stream::State::waiting && may_open(*stream)) {
            return {Slice::Kind::open, {{stream, 0}}};
        }
    }
    return {};
}

Slice FirstCome::step_slice(const ModelEntry& entry, std::int64_t now, const Limits& limits) const {
    Slice slice{Slice::Kind::step, {}};
    const bool together = entry.model->info().can(SOTTO_CAPABILITY_BATCHABLE);
    auto tokens = limits.prompt_tokens;
    if (const auto most = entry.model->info().step_tokens; most > 0) {
        tokens = std::min(tokens, most);
    }
    for (Stream* stream : streams_) {
        const bool here = &stream->entry == &entry && stream->state != Stream::State::waiting;
        if (!here || !is_due(*stream, now)) {
            continue;
        }
        const auto share = std::min(tokens, stream->remaining);
        if (stream->state == Stream::State::prompting && share == 0) {
            continue; // earlier prompts take all of this step
        }
        slice.shares.push_back({stream, share});
        tokens -= together ? share : 0;
    }
    if (!together && slice.shares.size() > 1) {
        const auto oldest =
            std::min_element(slice.shares.begin(), slice.shares.end(), [](const auto& a, const auto& b) {
                return a.stream->served < b.stream->served;
            });
        slice.shares = {*oldest};
    }
    return slice;
}

} // namespace sotto
