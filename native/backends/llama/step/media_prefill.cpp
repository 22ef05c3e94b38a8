// Prefills an image or a sound: encodes it, then decodes its embeddings.
#include "step/media_prefill.hpp"

#include "runtime/guard.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

// Disables causal attention if `wanted`, so that the tokens of a batch also attend to later tokens.
// The destructor enables it again.
class FullAttention {
public:
    FullAttention(llama_context* context, bool wanted) : context_(wanted ? context : nullptr) { set(false); }
    ~FullAttention() { set(true); }
    FullAttention(const FullAttention&) = delete;
    FullAttention& operator=(const FullAttention&) = delete;

private:
    void set(bool causal) {
        if (context_ != nullptr) {
            llama_set_causal_attn(context_, causal);
        }
    }

    llama_context* context_;
};

} // namespace

void MediaPrefill::run(StepItem& item) {
    const auto& stream = item.stream->kv;
    auto& stretch = *item.stretch;
    const auto held = stream.tokens.held();
    const auto left = stretch.end() - held;
    item.tokens = static_cast<std::uint32_t>(
        stretch.whole ? left : std::min<std::size_t>({left, item.tokens, batch_.capacity()})
    );
    const EncoderStep on = {contexts_.threads(), contexts_.pool(), StepGate::on_abort, &gate_};
    if (stretch.embeddings.empty() && !projector_->encode(stretch, on)) {
        throw Error(SOTTO_ERROR_CANCELLED, "the step was cancelled");
    }
    const auto goal = held + item.tokens;
    for (auto at = held; at < goal;) {
        const auto count = std::min<std::size_t>(goal - at, batch_.capacity());
        if (const auto result = decode(stream, stretch, at, count); result != 0) {
            throw_if_lost();
            throw Error(SOTTO_ERROR_INFERENCE, reason_of(result));
        }
        at += count;
    }
    if (goal == stretch.end()) {
        std::vector<float>().swap(stretch.embeddings);
    }
    item.output = goal == stream.tokens.tokens().size() ? batch_.size() - 1 : -1;
}

int MediaPrefill::decode(const KvStream& stream, Stretch& stretch, std::size_t held, std::size_t count) {
    const auto& tokens = stream.tokens;
    const auto offset = held - stretch.begin;
    auto positions = projector_->positions(stretch, tokens.position(stretch.begin), offset, count);
    auto* embeddings = stretch.embeddings.data() + offset * projector_->width();
    const bool output = held + count == tokens.tokens().size();
    const auto batch = batch_.embeddings(stream.slot, count, embeddings, positions.data(), output);
    const FullAttention attention(contexts_.get(), stretch.together);
    return llama_decode(contexts_.get(), batch);
}

} // namespace sotto::llama
