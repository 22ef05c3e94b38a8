// Beginnings that several streams have in common, which are worked through once.
//
// A stream copies what another one holds of its prompt; and where both are still at it, it waits until the
// other is through. llama.cpp copies a sequence only whole, cells that are empty too, and only with the next
// batch; its saved states are of the cells that are full, and there at once.
#include "kv/pages.hpp"
#include "model/model.hpp"
#include "runtime/guard.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

// Tokens that make a copy worth its while, and a beginning worth waiting for.
constexpr std::size_t kWorthCopying = 32;
constexpr std::size_t kWorthWaiting = 64;

bool follows(const Stream* stream, const Stream& whom) {
    while (stream != nullptr && stream != &whom) {
        stream = stream->leader;
    }
    return stream != nullptr;
}

// Whether `stream` may get on with its prompt in `step`.
bool works_in(const sotto_step& step, const Stream& stream) {
    return stream.in_prompt() && stream.finish == SOTTO_FINISH_NONE &&
           std::any_of(step.items, step.items + step.count, [&](const sotto_step_item* work) {
               return work->stream == &stream && work->tokens > 0;
           });
}

} // namespace

// Copies what other sequences hold of a prompt, and finds a stream that is about to hold more: in `step`, if
// there is one.
void Model::seek(Stream& stream, const sotto_step* step) {
    stream.seeks = false;
    stream.leader = nullptr;
    if (!stream.in_prompt() || !stream.how.reuse || !keeps_all()) {
        return;
    }
    const Sequence* source = nullptr;
    auto most = stream.held + kWorthCopying - 1;
    stream.led = std::max(kWorthWaiting - 1, most);
    for (const auto& at : sequences_) {
        const auto* other = at.stream;
        if (other == &stream) {
            continue;
        }
        if ((other != nullptr ? other->adapters.key : at.adapters) != stream.adapters.key) {
            continue;
        }
        const auto& tokens = other != nullptr ? other->tokens : at.tokens;
        const auto exact = other != nullptr ? other->exact : at.exact;
        const auto common = std::min({common_prefix(tokens, stream.tokens), exact, stream.tokens.size() - 1});
        const auto there = std::min(common, other != nullptr ? other->held : at.tokens.size());
        if (stream.floor(there) > most) {
            source = &at;
            most = stream.floor(there);
        }
        if (common > there && common > stream.led && other->in_prompt() && !follows(other, stream) &&
            (step == nullptr || works_in(*step, *other))) {
            stream.leader = at.stream;
            stream.led = common;
        }
    }
    if (source != nullptr) {
        copy_beginning(*source, stream, most);
    }
    if (stream.leader != nullptr && stream.led < stream.held + kWorthCopying) {
        stream.leader = nullptr;
    }
}

// Makes `stream` hold `count` tokens that `source` holds too.
void Model::copy_beginning(const Sequence& source, Stream& stream, std::size_t count) {
    Call call(host(), Call::Abort::Throws); // nothing computes
    auto* context = opened_.context.get();
    const auto from = static_cast<llama_seq_id>(&source - sequences_.data());
    try {
        const auto size = llama_state_seq_get_size(context, from);
        const Pages bytes(size);
        const auto written = llama_state_seq_get_data(context, bytes.data(), size, from);
        if (written == 0) {
            return;
        }
        const auto read = llama_state_seq_set_data(context, bytes.data(), written, stream.sequence);
        stream.hold(cut_memory(stream, read == 0 ? 0 : count));
        stream.restored = source.stream != nullptr ? source.stream->restored : source.restored;
    } catch (const std::exception& error) { // then all of it is worked through
        throw_if_lost(error);
        stream.hold(cut_memory(stream, 0));
    }
}

// Whether a stream in `step` leaves it to another one there to work through what both begin with. Whoever is
// waited for does something in this step, or waits for one that does.
bool Model::waits(Stream& stream, const sotto_step& step) {
    const auto* leader = stream.leader;
    if (stream.seeks || (leader != nullptr && (leader->held >= stream.led || !works_in(step, *leader)))) {
        seek(stream, &step);
    }
    return stream.leader != nullptr;
}

} // namespace sotto::llama
