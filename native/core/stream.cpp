#include "core/stream.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

namespace sotto {
namespace {

double milliseconds(std::int64_t from, std::int64_t to) noexcept {
    constexpr double kMillisecond = 1e6;
    return static_cast<double>(to - from) / kMillisecond;
}

} // namespace

Stream::Stream(Slot& slot, Prompted asked, ModelEntry& entry, float target_tps, std::int64_t now)
    : slot(slot), op(slot.asked.op), body(std::move(slot.asked.body)), prompted(std::move(asked)),
      entry(entry), own_tps_(slot.asked.target_tps), chunked_((slot.asked.flags & SOTTO_REQUEST_CHUNKS) != 0),
      stops_(prompted.stops), writer_(op, slot.id.load(), prompted.model, std::time(nullptr)) {
    pacer.set_rate(own_tps_ > 0 ? own_tps_ : target_tps, now);
}

void Stream::retune(float target_tps, std::int64_t now) noexcept {
    if (own_tps_ == 0) {
        pacer.set_rate(target_tps, now);
    }
}

void Stream::opened(const sotto_stream_info& info, std::int64_t now) noexcept {
    counts_.prompt = info.prompt_tokens;
    counts_.cached = std::min(info.cached_tokens, info.prompt_tokens);
    remaining = counts_.prompt - counts_.cached;
    state = remaining > 0 ? State::prompting : State::speaking;
    opened_ = now;
}

std::string Stream::spoke(std::string_view bytes, std::int64_t now) {
    if (counts_.generated++ == 0) {
        first_ = now;
    }
    last_ = now;
    pacer.spoke(now);
    std::string characters;
    std::string shown;
    characters_.feed(bytes, characters);
    if (stops_.feed(characters, shown)) {
        stopped_ = true;
        end("stop");
    } else if (counts_.generated >= prompted.max_tokens) {
        end("length");
    }
    return keep(std::move(shown));
}

std::string Stream::rest() {
    if (stopped_) {
        return {};
    }
    std::string characters;
    std::string shown;
    characters_.finish(characters);
    if (!stops_.feed(characters, shown)) {
        stops_.finish(shown);
    }
    return keep(std::move(shown));
}

Counts Stream::counts() const noexcept {
    Counts counts = counts_;
    if (counts.generated > 0) {
        counts.prompt_ms = milliseconds(opened_, first_);
        counts.generated_ms = milliseconds(first_, last_);
        counts.first_token_ms = milliseconds(slot.submitted_ns, first_);
    }
    return counts;
}

std::string Stream::keep(std::string shown) {
    if (!chunked()) {
        text_ += shown;
    }
    return shown;
}

} // namespace sotto
