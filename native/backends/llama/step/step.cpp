// Takes a step: one batch for all streams that have something to do.
#include "step/step.hpp"

#include "runtime/guard.hpp"
#include "runtime/process_end.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

// Tells what was chosen earliest.
void tell_next(sotto_step_item& work, Stream& stream) {
    stream.told = std::move(stream.ahead.front());
    stream.ahead.pop_front();
    work.text = str(stream.told.text);
    work.logprobs = str(stream.told.logprobs);
    work.generated = stream.told.generated ? 1 : 0;
    work.finish = stream.finish = stream.told.finish;
}

} // namespace

void tell(sotto_step_item& work, const Stream& stream) {
    work.text = {nullptr, 0};
    work.evaluated = 0;
    work.generated = 0;
    work.decoded = 0;
    work.remaining = stream.in_prompt() ? static_cast<std::uint32_t>(stream.pending()) : 0;
    work.finish = stream.finish;
    work.logprobs = {nullptr, 0};
    work.status = SOTTO_OK;
    work.reason = {nullptr, 0};
}

void fail_stream(sotto_step_item& work, Stream& stream, sotto_status status, const char* why) {
    work.status = fail(status, why, stream.why, &work.reason);
}

void fail_stream(sotto_step_item& work, Stream& stream, const std::exception& error) {
    const bool memory = is_out_of_memory(error);
    const auto status = memory ? SOTTO_ERROR_MEMORY : SOTTO_ERROR_INFERENCE;
    fail_stream(work, stream, status, memory ? "out of host memory" : error.what());
}

constexpr const char* kAdaptedNan =
    "the model computes NaN with these adapters: lower their scales, or train the adapters again";

// What llama_decode() returns, as it names its own failures.
constexpr int kNoMemory = -2;
constexpr int kFailed = -3;

const char* reason_of(int result) {
    switch (result) {
    case kNoMemory:
        return "out of host memory";
    case 1:
        return "the model's KV cache is full";
    case -1:
        return "llama.cpp rejects the tokens";
    default:
        return "llama.cpp cannot compute; the device may be out of memory";
    }
}

bool Model::on_gate(void* self) {
    auto& model = *static_cast<Model*>(self);
    if (model.stepping_ == nullptr || model.cancelled_) {
        return model.cancelled_;
    }
    const auto asked = model.now();
    model.cancelled_ = model.stepping_->gate(model.stepping_->context) != 0 || process_ends();
    model.waited_ += model.now() - asked;
    if (model.cancelled_) {
        Call::current()->expect_below(0); // llama.cpp calls a step that it broke off an error
    }
    return model.cancelled_;
}

sotto_status Model::step(const sotto_step& step) {
    auto shares = shares_of(step);
    use_adapters(step);
    use_threads(step);
    stepping_ = &step;
    cancelled_ = false;
    struct Reset {
        Model& model;
        ~Reset() { model.stepping_ = nullptr; }
    } const reset{*this};

    if (on_gate(this)) {
        throw Error(SOTTO_ERROR_CANCELLED, "the step was cancelled");
    }
    Share media;
    if (!shares.empty() && shares.back().stretch != nullptr) {
        media = shares.back();
        shares.pop_back();
    }
    if (media.stretch == nullptr) {
        guess(shares);
    }
    if (run(shares) != SOTTO_OK) {
        run_alone(shares);
    }
    if (media.stretch != nullptr && !cancelled_) {
        run_media(media, shares.empty());
    }
    const bool damaged = damaged_;
    if (damaged) {
        forget_damaged_state();
    }
    for (auto* const* work = step.items; work != step.items + step.count; ++work) {
        auto& stream = *static_cast<Stream*>((*work)->stream);
        if (damaged && stream.in_prompt()) {
            (*work)->remaining = static_cast<std::uint32_t>(stream.pending());
        }
        if ((*work)->status == SOTTO_OK && !stream.ahead.empty()) {
            tell_next(**work, stream);
        }
    }
    return SOTTO_OK;
}

// Answers first, one token each: `batch` is no less than the number of streams. Prompts share the rest. An
// image or sound comes last, and one in a step, so that answers need not wait for many. In the order of their
// sequences, because llama.cpp computes together only what is neighbours in its memory.
std::vector<Model::Share> Model::shares_of(const sotto_step& step) {
    std::vector<Share> shares;
    shares.reserve(step.count + 1);
    Share media;
    auto room = opened_.options.batch;
    for (const bool prompts : {false, true}) {
        for (std::uint32_t i = 0; i < step.count; ++i) {
            auto& work = *step.items[i];
            auto& stream = *static_cast<Stream*>(work.stream);
            if (stream.in_prompt() != prompts) {
                continue;
            }
            const auto wanted = wanted_of(work, stream, step);
            auto* stretch = stream.stretch_at(stream.held);
            const auto text = static_cast<std::uint32_t>(stream.text_ahead());
            if (const auto tokens = std::min({wanted, text, room}); tokens > 0) {
                shares.push_back({&work, &stream, tokens});
                room -= tokens;
            } else if (stretch != nullptr && wanted > 0 && media.stretch == nullptr) {
                media = {&work, &stream, wanted, stretch};
            }
        }
    }
    std::ranges::sort(shares, {}, [](const Share& share) { return share.stream->sequence; });
    if (media.stretch != nullptr) {
        shares.push_back(std::move(media));
    }
    return shares;
}

// How many tokens to work through for `stream`, if there is room.
std::uint32_t Model::wanted_of(sotto_step_item& work, Stream& stream, const sotto_step& step) {
    if (stream.parked()) {
        tell(work, stream);
        fail_stream(
            work, stream, SOTTO_ERROR_STATE, "the stream is parked: unpark the stream before the step"
        );
        return 0;
    }
    const bool prompt = stream.in_prompt();
    const bool waiting = prompt && waits(stream, step); // before its state is told, which that may change
    tell(work, stream);
    if (waiting || stream.finish != SOTTO_FINISH_NONE) {
        return 0;
    }
    return prompt ? std::min(work.tokens, stream.piece_ahead()) : stream.ahead.empty() ? 1 : 0;
}

void Model::add_to_batch(const Stream& stream, std::size_t at, llama_token token, bool output) {
    const auto i = static_cast<std::size_t>(batch_size_++);
    batch_tokens_[i] = token;
    batch_positions_[i] = stream.position(at);
    batch_sequences_[i] = &sequence_ids_[static_cast<std::size_t>(stream.sequence)];
    batch_outputs_[i] = output ? 1 : 0;
}

void Model::fill_batch(std::vector<Share>& shares) {
    batch_size_ = 0;
    for (auto& share : shares) {
        const auto& stream = *share.stream;
        const auto end = stream.held + share.tokens;
        const bool answers = share.tokens == stream.pending();
        for (auto at = stream.held; at < end; ++at) {
            add_to_batch(stream, at, stream.tokens[at], answers && at + 1 == end);
        }
        share.output = answers ? batch_size_ - 1 : -1;
        for (std::size_t i = 0; i < share.guess.size(); ++i) {
            add_to_batch(stream, end + i, share.guess[i], true);
        }
    }
}

// Says what llama.cpp says of the batch.
int Model::decode(const std::vector<Share>& shares) {
    const llama_batch batch = {
        batch_size_,
        batch_tokens_.data(),
        nullptr,
        batch_positions_.data(),
        batch_ones_.data(),
        batch_sequences_.data(),
        batch_outputs_.data(),
    };
    try {
        if (const auto result = llama_decode(opened_.context.get(), batch); result != 0) {
            if (!cancelled_) {
                throw_if_lost();
            }
            return result;
        }
    } catch (const std::exception& error) {
        throw_if_lost(error);
        return is_out_of_memory(error) ? kNoMemory : kFailed;
    }
    ++decoded_;
    if (speculates() && shares.size() == 1) {
        learn_cost(shares.front());
    }
    return 0;
}

// All shares in one batch. Afterwards either each stream is further, or none is.
sotto_status Model::run(std::vector<Share>& shares) {
    if (shares.empty()) {
        return SOTTO_OK;
    }
    fill_batch(shares);
    const auto result = decode(shares);
    if (result == 0) {
        for (auto& share : shares) {
            take_over(share);
        }
        return SOTTO_OK;
    }
    take_back(shares);
    if (cancelled_) {
        throw Error(SOTTO_ERROR_CANCELLED, "the step was cancelled");
    }
    for (auto& share : shares) {
        const auto status = result == kNoMemory ? SOTTO_ERROR_MEMORY : SOTTO_ERROR_INFERENCE;
        fail_stream(*share.work, *share.stream, status, reason_of(result));
    }
    return shares.size() > 1 ? SOTTO_ERROR_INFERENCE : SOTTO_OK;
}

// The streams did not go together, so each tries for itself, and those fail that fail alone. A gate that
// closes meanwhile ends the step early, but not as cancelled: some streams are further by then.
sotto_status Model::run_alone(std::vector<Share>& shares) {
    for (auto& share : shares) {
        tell(*share.work, *share.stream);
    }
    for (auto& share : shares) {
        std::vector<Share> alone = {share};
        try {
            run(alone);
        } catch (const Error& error) {
            throw_if_lost(error);
            break;
        }
    }
    return SOTTO_OK;
}

void Model::take_back(const std::vector<Share>& shares) {
    for (const auto& share : shares) {
        share.stream->hold(cut_memory(*share.stream, share.stream->held));
        tell(*share.work, *share.stream);
    }
}

// The memory holds what was in the batch; where that was all, the next token is chosen.
void Model::take_over(Share& share) {
    auto& stream = *share.stream;
    auto& work = *share.work;
    work.evaluated = stream.in_prompt() ? share.tokens : 0;
    work.decoded = stream.in_prompt() ? 0 : static_cast<std::uint32_t>(1 + share.guess.size());
    stream.held += share.tokens;
    work.remaining = static_cast<std::uint32_t>(stream.pending());
    if (share.output < 0) {
        return;
    }
    try {
        Call call(host(), Call::Abort::Throws); // nothing computes
        choose(share);
        stream.restored = false;
        work.remaining = stream.in_prompt() ? static_cast<std::uint32_t>(stream.pending()) : 0;
    } catch (const NoNumbers& error) {
        // adapters can overflow; the KV cache is cleared after the step
        damaged_ = damaged_ || stream.restored || stream.adapters.key != 0;
        if (!stream.restored) {
            const bool adapted = stream.adapters.key != 0;
            fail_stream(work, stream, error.status(), adapted ? kAdaptedNan : error.what());
        }
    } catch (const std::exception& error) {
        throw_if_lost(error);
        fail_stream(work, stream, error);
    }
}

// Clears the whole KV cache, which holds NaN from a restored state or from adapters: removed cells stay in
// its buffers, and llama.cpp's attention still reads them. Every stream prefills again.
void Model::forget_damaged_state() {
    Call::current()->log(
        SOTTO_LOG_ERROR,
        "the KV cache of a restored state or of a stream with adapters holds NaN; the model discards it and "
        "prefills the prompts again"
    );
    damaged_ = false;
    llama_memory_clear(llama_get_memory(opened_.context.get()), true);
    for (auto& at : sequences_) {
        auto* stream = at.stream;
        at = {};
        at.stream = stream;
        if (stream != nullptr) {
            stream->restored = false;
            stream->hold(0);
        }
    }
}

// Chooses the next token, and as many more as were guessed right.
void Model::choose(const Share& share) {
    auto& stream = *share.stream;
    const auto& tokenizer = preparer_.tokenizer();
    std::string text;
    for (std::int32_t i = 0;; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const bool guessed = at < share.guess.size();
        auto token = LLAMA_TOKEN_NULL;
        try {
            token = stream.how.sampler->choose(opened_.context.get(), share.output + i);
        } catch (const std::exception& error) {
            throw_if_lost(error);
            if (i == 0) {
                throw;
            }
            --stream.held; // what came before is told, and this is computed again
            break;
        }
        if (const auto expected = guessed  ? share.guess[at]
                                  : i == 0 ? share.expected
                                           : LLAMA_TOKEN_NULL;
            expected != LLAMA_TOKEN_NULL) {
            (share.drafted ? drafts_ : lookups_)
                .saw(share.drafted ? stream.draft_acceptance : stream.lookup_acceptance, token == expected);
        }
        if (tokenizer.ends_answer(token)) {
            const bool early = stream.how.sampler->closed_early();
            stream.ahead.push_back({"", "", false, early ? SOTTO_FINISH_LENGTH : SOTTO_FINISH_STOP});
            break;
        }
        if (stream.how.shown.contains(token)) {
            text = tokenizer.piece_of(token);
        } else {
            tokenizer.text_of(token, text);
        }
        stream.tokens.push_back(token);
        stream.ahead.push_back({text, stream.how.sampler->told(), true});
        if (!guessed || token != share.guess[at]) {
            break;
        }
        ++stream.held; // it was worked through with the one before
    }
    if (!share.guess.empty()) {
        stream.hold(cut_memory(stream, stream.held));
    }
    if (stream.ahead.back().finish == SOTTO_FINISH_NONE && !make_room(stream)) {
        stream.ahead.back().finish = SOTTO_FINISH_LENGTH;
    }
}

} // namespace sotto::llama
