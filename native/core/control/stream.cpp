#include "core/control/stream.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include "module/contract.hpp"
#include "platform/clock.hpp"
#include "text/json_reader.hpp"

namespace sotto {
namespace {

StreamTerms terms_of(const Reply& reply, std::uint64_t number) noexcept {
    const auto& asked = reply.slot.asked;
    return {
        .number = number,
        .priority = asked.priority,
        .deadline = asked.deadline_ns == 0 ? kNever : asked.deadline_ns,
        .at_once = is_at_once(reply.op),
        .pinned = reply.turn.session() != nullptr && reply.turn.session()->pinned,
        .large = reply.body.size() > kLargeBody,
        .group = group_of(reply.adapters),
        .saves = reply.op == SOTTO_OP_SAVE_STATE,
    };
}

// Returns null for data, which is not text and is delivered without pacing.
const Pacer* pacer_of(const Reply& reply, std::uint32_t index) noexcept {
    return has_data(reply.op) ? nullptr : &reply.lanes.answers[index]->pacer;
}

} // namespace

Reply::Reply(Slot& slot, Prompted asked, Turn taken, AdapterSet uses)
    : slot(slot), lanes(*slot.done->lanes), op(slot.asked.op), body(std::move(slot.asked.body)),
      prompted(std::move(asked)), state(std::move(slot.asked.state)),
      chunked((slot.asked.flags & SOTTO_REQUEST_CHUNKS) != 0 && !has_data(op)),
      writer(op, slot.id.load(), prompted.model, std::time(nullptr), prompted.unknown),
      said(prompted.answers), left(prompted.answers), turn(std::move(taken)), adapters(std::move(uses)) {}

Stream::Stream(
    std::shared_ptr<Reply> shared,
    std::uint32_t index,
    ModelEntry& entry,
    std::uint64_t number,
    std::int64_t now
)
    : ScheduledStream(entry, terms_of(*shared, number), pacer_of(*shared, index), now),
      reply(std::move(shared)), index(index), entry(entry), answer(reply->prompted, has_data(reply->op)),
      session(reply->turn.session()) {}

void Stream::opened(const StreamInfo& info, std::int64_t now) {
    try {
        const bool speaks = !has_data(reply->op);
        answer.opened(speaks ? info.stops : std::string(), speaks && info.parsed);
    } catch (const Json::exception&) {
        refuse_backend(
            entry.model->backend(),
            SOTTO_ERROR_INFERENCE,
            "sotto_stream_info.stops is not a JSON array of texts"
        );
    }
    counts_.prompt = info.prompt_tokens;
    counts_.cached = std::min(info.cached_tokens, info.prompt_tokens);
    counts_.dropped = info.dropped;
    opened_ = now;
    ScheduledStream::opened(counts_.prompt, counts_.cached);
}

void Stream::stepped(std::uint32_t left, bool spoke, std::int64_t now) noexcept {
    ScheduledStream::stepped(left, spoke, now);
    last_ = spoke ? now : last_;
}

Counts Stream::counts() const noexcept {
    Counts counts = counts_;
    counts.generated = generated;
    if (counts.generated > 0) {
        counts.prompt_ms = milliseconds(first - opened_);
        counts.generated_ms = milliseconds(last_ - first);
        counts.first_token_ms = milliseconds(first - reply->slot.submitted_ns);
    }
    return counts;
}

} // namespace sotto
