// A model that is open, and the streams that come and go.
#include "model.hpp"

#include "guard.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sotto::llama {
namespace {

using Json = nlohmann::json;

// As much as llama.cpp's sequence ids and positions can tell apart, so casts below lose nothing.
llama_pos position(std::size_t tokens) {
    return static_cast<llama_pos>(tokens);
}

std::size_t common_prefix(const std::vector<llama_token>& a, const std::vector<llama_token>& b) {
    const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
    return static_cast<std::size_t>(end - a.begin());
}

} // namespace

Model::Model(Backend& backend, Opened opened)
    : backend_(backend), opened_(std::move(opened)), tokenizer_(llama_model_get_vocab(opened_.weights.get())),
      sequences_(opened_.options.parallel), batch_tokens_(opened_.options.batch),
      batch_positions_(opened_.options.batch), batch_ones_(opened_.options.batch, 1),
      sequence_ids_(opened_.options.parallel), batch_sequences_(opened_.options.batch),
      batch_outputs_(opened_.options.batch) {
    for (std::size_t i = 0; i < sequence_ids_.size(); ++i) {
        sequence_ids_[i] = static_cast<llama_seq_id>(i);
    }
    const auto* vocab = llama_model_get_vocab(opened_.weights.get());
    const char* source = llama_model_chat_template(opened_.weights.get(), nullptr);
    if (source == nullptr) {
        chat_problem_ = "the model has no chat template, so it answers text completions only";
    } else {
        try {
            auto bos = tokenizer_.spelling_of(llama_vocab_bos(vocab));
            auto eos = tokenizer_.spelling_of(llama_vocab_eos(vocab));
            chat_ = std::make_unique<ChatTemplate>(source, std::move(bos), std::move(eos));
        } catch (const std::exception& error) {
            chat_problem_ = std::string("the model's chat template cannot be read: ") + error.what();
        }
    }
    llama_set_abort_callback(opened_.context.get(), on_gate, this);
    backend_.pools.model_opened();
}

Model::~Model() {
    Call call(host(), Call::Abort::Dies);
    opened_.context.reset(); // before the pools that it may still point at
    backend_.pools.model_closed();
}

sotto_model_info info_of(const Opened& opened) {
    auto info = sotto_init<sotto_model_info>();
    info.capabilities = SOTTO_CAPABILITY_BATCHABLE | SOTTO_CAPABILITY_ABORTABLE;
    info.streams = opened.options.parallel;
    info.context = opened.options.context;
    info.step_tokens = opened.options.batch;
    info.weights = opened.memory.weights;
    info.kv = opened.memory.kv;
    info.compute = opened.memory.compute;
    info.description = str(opened.description);
    return info;
}

std::vector<PromptPart> Model::prompt_of(sotto_op op, const Json& body) const {
    if (op == SOTTO_OP_CHAT) {
        if (!chat_) {
            throw Error(SOTTO_ERROR_UNSUPPORTED, chat_problem_);
        }
        const auto messages = body.find("messages");
        if (messages == body.end() || !messages->is_array()) {
            throw Error(SOTTO_ERROR_ARGUMENT, "\"messages\" is no list");
        }
        return chat_->render(*messages);
    }
    if (op == SOTTO_OP_TEXT) {
        const auto prompt = body.find("prompt");
        if (prompt == body.end() || !prompt->is_string()) {
            throw Error(SOTTO_ERROR_ARGUMENT, "\"prompt\" is no string");
        }
        return {{prompt->get<std::string>(), true}};
    }
    throw Error(SOTTO_ERROR_UNSUPPORTED, "the llama backend answers chat and text requests");
}

Stream* Model::open_stream(const sotto_stream_desc& desc, sotto_stream_info& info) {
    Call call(host(), Call::Abort::Throws);
    const auto body = Json::parse(view(desc.body), nullptr, false);
    if (!body.is_object()) {
        throw Error(SOTTO_ERROR_ARGUMENT, "the request is no JSON object");
    }
    auto prompt = tokenizer_.tokens(prompt_of(desc.op, body), opened_.options.context);

    std::size_t common = 0;
    const auto sequence = best_sequence(prompt, common);
    auto stream = std::make_unique<Stream>(body, std::move(prompt), sequence);
    auto& place = sequences_[static_cast<std::size_t>(sequence)];
    stream->held = cut_memory(sequence, common);
    stream->text.reserve(256);
    place.tokens.clear();
    place.stream = stream.get();

    info.prompt_tokens = static_cast<std::uint32_t>(stream->prompt_size);
    info.cached_tokens = static_cast<std::uint32_t>(stream->held);
    return stream.release();
}

void Model::close_stream(Stream* stream) noexcept {
    const std::unique_ptr<Stream> owned(stream);
    auto& place = sequences_[static_cast<std::size_t>(stream->sequence)];
    place.stream = nullptr;
    place.last_used = ++clock_;
    place.tokens = std::move(stream->tokens);
    place.tokens.resize(stream->held); // shrinks
}

// The free sequence that remembers most of `prompt`, if that is most of what it remembers; else the one
// unused longest, so that other conversations are remembered too. The prompt's last token is always worked
// through, for what is to follow it.
llama_seq_id Model::best_sequence(const std::vector<llama_token>& prompt, std::size_t& common) const {
    const Sequence* best = nullptr;
    bool best_fits = false;
    for (const auto& place : sequences_) {
        if (place.stream != nullptr) {
            continue;
        }
        const auto held = std::min(common_prefix(place.tokens, prompt), prompt.size() - 1);
        const bool fits = held > 0 && held >= place.tokens.size() - held;
        const bool older = best != nullptr && place.last_used < best->last_used;
        const bool longer = fits && (!best_fits || held > common || (held == common && older));
        if (best == nullptr || longer || (!fits && !best_fits && older)) {
            best = &place;
            best_fits = fits;
            common = held;
        }
    }
    if (best == nullptr) {
        throw Error(SOTTO_ERROR_STATE, "all of the model's streams are open");
    }
    return static_cast<llama_seq_id>(best - sequences_.data());
}

// Makes the memory of `sequence` hold its first `keep` tokens and no more. Where it cannot be cut there, as
// with recurrent states and sliding windows, it is emptied. Says how many tokens are left.
std::size_t Model::cut_memory(llama_seq_id sequence, std::size_t keep) {
    auto* memory = llama_get_memory(opened_.context.get());
    const auto window = llama_model_n_swa(opened_.weights.get());
    if (keep > 0 && llama_memory_seq_rm(memory, sequence, position(keep), -1) &&
        llama_memory_seq_pos_max(memory, sequence) == position(keep) - 1) {
        const bool keeps_all = window == 0 && !llama_model_is_recurrent(opened_.weights.get()) &&
                               !llama_model_is_hybrid(opened_.weights.get());
        const auto oldest = llama_memory_seq_pos_min(memory, sequence);
        if (keeps_all ? oldest == 0 : window == 0 || oldest <= std::max(0, position(keep) - window)) {
            return keep;
        }
    }
    llama_memory_seq_rm(memory, sequence, -1, -1);
    return 0;
}

} // namespace sotto::llama
