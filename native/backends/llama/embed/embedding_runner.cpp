// Runs the steps of an embedding model: batches of whole texts.
#include "embed/embedding_runner.hpp"

#include "embed/pooling.hpp"
#include "runtime/guard.hpp"
#include "step/step_item.hpp"
#include "step/step_threads.hpp"

#include <algorithm>
#include <cmath>

namespace sotto::llama {
namespace {

constexpr const char* kStepCancelled = "the step was cancelled";
constexpr const char* kVectorNan =
    "the model computes NaN for this text: its file is damaged, or its weights overflow; use another file";

// Returns the maximum tokens of a batch of several texts. On a CPU, throughput hardly grows further: with 64,
// 128, 256 and 512 tokens, one core embeds 125, 167, 174 and 177 sentences of 32 tokens a second (MiniLM).
std::size_t batch_tokens_of(const Options& options) {
    constexpr std::uint32_t kEnough = 512;
    return options.device == nullptr ? std::min(options.at_once, kEnough) : options.at_once;
}

} // namespace

EmbeddingRunner::EmbeddingRunner(
    const llama_model* model, const Options& options, Contexts& contexts, ThreadPools& pools
)
    : contexts_(contexts), pools_(pools), threads_(options.limits.prefill_threads),
      values_(values_of(model, options)), of_tokens_(options.pooling == Options::Pooling::Tokens),
      batch_tokens_(batch_tokens_of(options)), batch_(options.at_once, kMaxTexts) {
    contexts_.set_gate(StepGate::on_abort, &gate_);
}

void EmbeddingRunner::run(const sotto_step& step) {
    const auto texts = plan_texts(step);
    use_threads(step, threads_, contexts_, pools_);
    const StepGate::Scope scope(gate_, step);
    for (std::size_t done = 0; done < texts.size();) {
        const auto rest = std::span(texts).subspan(done);
        const auto length = batch_length(rest);
        if (gate_.ask() || !compute(rest.first(length))) {
            if (done > 0) { // some streams have advanced
                return;
            }
            throw Error(SOTTO_ERROR_CANCELLED, kStepCancelled);
        }
        done += length;
    }
}

// Returns the number of texts of the next batch: one, if its result must depend on its request only.
std::size_t EmbeddingRunner::batch_length(std::span<const StepText> texts) const {
    std::size_t tokens = texts.front().tokens().size();
    std::size_t length = 1;
    if (texts.front().stream->request.alone) {
        return length;
    }
    for (; length < texts.size() && length < kMaxTexts; ++length) {
        const auto& next = texts[length];
        tokens += next.tokens().size();
        if (tokens > batch_tokens_ || next.stream->request.alone) {
            break;
        }
    }
    return length;
}

// Computes texts in one batch; if that fails, each alone, so that only streams that fail alone report an
// error. Returns false if the gate cancelled the batch: no stream has advanced then.
bool EmbeddingRunner::compute(std::span<const StepText> texts) {
    const auto result = decode(texts);
    if (result == 0) {
        std::size_t first = 0;
        for (std::size_t i = 0; i < texts.size(); ++i) {
            take_over(texts[i], values_of_text(texts[i], i, first));
            first += texts[i].tokens().size();
        }
        return true;
    }
    if (gate_.cancelled()) {
        return false;
    }
    if (texts.size() == 1) {
        const auto status = result == kDecodeNoMemory ? SOTTO_ERROR_MEMORY : SOTTO_ERROR_INFERENCE;
        fail_text(texts.front(), status, reason_of(result));
        return true;
    }
    for (const auto& text : texts) {
        if (!compute({&text, 1})) {
            return text.stream != texts.front().stream || text.index != texts.front().index;
        }
    }
    return true;
}

// Returns the result of llama_decode() for the texts, each of which is a sequence.
int EmbeddingRunner::decode(std::span<const StepText> texts) {
    batch_.clear();
    for (std::size_t i = 0; i < texts.size(); ++i) {
        llama_pos position = 0;
        for (const auto token : texts[i].tokens()) {
            batch_.add(static_cast<llama_seq_id>(i), position++, token, true);
        }
    }
    auto* context = contexts_.get();
    int result = kDecodeFailed;
    try {
        result = llama_decode(context, batch_.tokens());
        if (result != 0 && !gate_.cancelled()) {
            throw_if_lost();
        }
    } catch (const std::exception& error) {
        throw_if_lost(error);
        result = is_out_of_memory(error) ? kDecodeNoMemory : kDecodeFailed;
    }
    if (auto* memory = llama_get_memory(context)) { // of a causal model: no text is continued
        llama_memory_clear(memory, false);
    }
    return result;
}

// Returns the vector of a text, or those of its tokens in a row; empty if there are none. `sequence`: its
// index in the batch; `first`: the index of its first token.
std::span<const float>
EmbeddingRunner::values_of_text(const StepText& text, std::size_t sequence, std::size_t first) const {
    auto* context = contexts_.get();
    const auto* values = of_tokens_ ? llama_get_embeddings_ith(context, static_cast<std::int32_t>(first))
                                    : llama_get_embeddings_seq(context, static_cast<llama_seq_id>(sequence));
    const auto count = of_tokens_ ? text.tokens().size() : 1;
    return {values, values == nullptr ? 0 : count * values_};
}

// Adds the values of a text to its stream's results, and the response once all texts are computed.
void EmbeddingRunner::take_over(const StepText& text, std::span<const float> vector) {
    auto& stream = *text.stream;
    auto& work = *text.work;
    if (stream.failed) {
        return;
    }
    if (vector.empty() ||
        !std::all_of(vector.begin(), vector.end(), [](float x) { return std::isfinite(x); })) {
        return fail_text(text, SOTTO_ERROR_INFERENCE, kVectorNan);
    }
    const auto size = text.tokens().size();
    stream.request.results->add(vector);
    stream.computed += size;
    stream.next = text.index + 1;
    stream.credit -= std::min<std::uint64_t>(stream.credit, size);
    work.evaluated += static_cast<std::uint32_t>(size);
    work.remaining = stream.remaining();
    if (stream.done()) {
        stream.response = stream.request.results->response(stream.tokens);
        work.result = str(stream.response);
        work.finish = SOTTO_FINISH_STOP;
    }
}

void EmbeddingRunner::fail_text(const StepText& text, sotto_status status, const char* why) {
    text.stream->failed = true;
    text.work->status = fail(status, why, text.stream->why, &text.work->reason);
}

} // namespace sotto::llama
