#include "core/control/stream.hpp"

#include <ctime>
#include <utility>

#include "module/contract.hpp"
#include "text/json_reader.hpp"

namespace sotto {
namespace {

StreamTerms terms_of(const Reply& reply, std::uint64_t number) noexcept {
    const auto& submission = reply.slot.submission;
    return {
        .number = number,
        .priority = submission.priority,
        .deadline = submission.deadline_ns == 0 ? kNever : submission.deadline_ns,
        .at_once = is_at_once(reply.op),
        .pinned = reply.turn.session() != nullptr && reply.turn.session()->pinned,
        .large = reply.body.size() > kLargeBody,
        .group = group_of(reply.adapters),
        .saves = reply.op == SOTTO_OP_SAVE_STATE,
    };
}

// Returns null if the operation produces data instead of text: data is delivered without pacing.
const Pacer* pacer_of(const Reply& reply, std::uint32_t index) noexcept {
    return has_data(reply.op) ? nullptr : &reply.events.answers[index]->pacer;
}

ResponseParts parts_of(const ParsedRequest& parsed, const std::string& fingerprint) {
    return {
        .ignored = parsed.unknown,
        .fingerprint = fingerprint,
        .logprobs = parsed.logprobs,
        .tokens = parsed.return_tokens,
    };
}

std::unique_ptr<ResponseWriter> response_writer_of(const ParsedRequest& parsed) {
    return parsed.respond ? std::make_unique<ResponseWriter>(
                                *parsed.respond, parsed.model, std::time(nullptr), parsed.unknown
                            )
                          : nullptr;
}

} // namespace

Reply::Reply(Slot& slot, ParsedRequest request, Turn taken, AdapterSet uses, const std::string& fingerprint)
    : slot(slot), events(*slot.done->events), op(backend_operation(slot.submission.op)),
      body(std::move(slot.submission.body)), parsed(std::move(request)),
      state(std::move(slot.submission.state)),
      chunked((slot.submission.flags & SOTTO_REQUEST_CHUNKS) != 0 && !has_data(op)),
      writer(op, slot.id.load(), parsed.model, std::time(nullptr), parts_of(parsed, fingerprint)),
      response(response_writer_of(parsed)), complete(parsed.answers), left(parsed.answers),
      turn(std::move(taken)), adapters(std::move(uses)) {}

Stream::Stream(
    std::shared_ptr<Reply> shared,
    std::uint32_t index,
    ModelEntry& entry,
    std::uint64_t number,
    std::int64_t now
)
    : ScheduledStream(entry, terms_of(*shared, number), pacer_of(*shared, index), now),
      reply(std::move(shared)), index(index), entry(entry), output(reply->parsed, has_data(reply->op)),
      session(reply->turn.session()) {}

void Stream::opened(const StreamInfo& info, std::int64_t now) {
    try {
        const bool speaks = !has_data(reply->op);
        output.answer.opened(speaks ? info.stops : std::string(), speaks && info.parsed);
    } catch (const Json::exception&) {
        refuse_backend(
            entry.model->backend(),
            SOTTO_ERROR_INFERENCE,
            "sotto_stream_info.stops is not a JSON array of texts"
        );
    }
    usage_.opened(info, now);
    if (index == 0 && !info.settings.empty()) {
        reply->writer.set_settings(info.settings);
    }
    ScheduledStream::opened(usage_.prompt().prompt, usage_.prompt().cached);
}

void Stream::stepped(std::uint32_t left, bool spoke, std::int64_t now) noexcept {
    ScheduledStream::stepped(left, spoke, now);
    if (spoke) {
        usage_.generated(now);
    }
}

Counts Stream::counts() const noexcept {
    // Reads the request's slot only after a token: before, the stream may outlive the request and its slot.
    return usage_.counts(generated, first, generated > 0 ? reply->slot.submitted_ns : 0);
}

} // namespace sotto
