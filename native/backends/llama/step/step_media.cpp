// The part of a step that works an image or a sound through.
#include "runtime/guard.hpp"
#include "step/step.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

// Lets the tokens of a batch see each other, also those after them.
class Together {
public:
    Together(llama_context* context, bool wanted) : context_(wanted ? context : nullptr) { set(false); }
    ~Together() { set(true); }
    Together(const Together&) = delete;
    Together& operator=(const Together&) = delete;

private:
    void set(bool causal) {
        if (context_ != nullptr) {
            llama_set_causal_attn(context_, causal);
        }
    }

    llama_context* context_;
};

} // namespace

// Prefills the image or sound of `share`: as many tokens as it may, or none. `alone`: no other stream is in
// the step, so that it can be cancelled; else it only ends early, as the others have their tokens.
void Model::run_media(Share& share, bool alone) {
    try {
        work_through(share);
        return;
    } catch (const std::exception& error) {
        throw_if_lost(error);
        take_back({share});
        if (!cancelled_) {
            fail_stream(*share.work, *share.stream, error);
        }
    }
    if (cancelled_ && alone) {
        throw Error(SOTTO_ERROR_CANCELLED, "the step was cancelled");
    }
}

void Model::work_through(Share& share) {
    auto& stream = *share.stream;
    auto& stretch = *share.stretch;
    const auto left = stretch.end() - stream.held;
    share.tokens = static_cast<std::uint32_t>(
        stretch.whole ? left : std::min<std::size_t>({left, share.tokens, opened_.options.batch})
    );
    const EncoderStep on = {threads_, pool_, on_gate, this};
    if (stretch.embeddings.empty() && !opened_.projector->encode(stretch, on)) {
        throw Error(SOTTO_ERROR_CANCELLED, "the step was cancelled");
    }
    const auto goal = stream.held + share.tokens;
    for (auto at = stream.held; at < goal;) {
        const auto count = std::min<std::size_t>(goal - at, opened_.options.batch);
        if (const auto result = decode_media(stream, stretch, at, count); result != 0) {
            throw_if_lost();
            throw Error(SOTTO_ERROR_INFERENCE, reason_of(result));
        }
        at += count;
    }
    if (goal == stretch.end()) {
        std::vector<float>().swap(stretch.embeddings);
    }
    share.output = goal == stream.tokens.size() ? batch_size_ - 1 : -1;
    take_over(share);
}

int Model::decode_media(const Stream& stream, const Stretch& stretch, std::size_t held, std::size_t count) {
    const auto& projector = *opened_.projector;
    const auto offset = held - stretch.begin;
    auto positions = projector.positions(stretch, stream.position(stretch.begin), offset, count);
    auto* sequence = &sequence_ids_[static_cast<std::size_t>(stream.sequence)];
    std::fill_n(batch_sequences_.begin(), count, sequence);
    std::fill_n(batch_outputs_.begin(), count, std::int8_t{0});
    batch_outputs_[count - 1] = held + count == stream.tokens.size() ? 1 : 0;
    batch_size_ = static_cast<std::int32_t>(count);
    auto* embeddings = const_cast<float*>(stretch.embeddings.data()) + offset * projector.width();
    const llama_batch batch = {
        batch_size_,
        nullptr,
        embeddings,
        positions.data(),
        batch_ones_.data(),
        batch_sequences_.data(),
        batch_outputs_.data(),
    };
    const Together together(opened_.context.get(), stretch.together);
    return llama_decode(opened_.context.get(), batch);
}

} // namespace sotto::llama
