// A model that is open, and the streams that come and go.
#include "model.hpp"

#include "guard.hpp"
#include "json_parts.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

std::size_t common_prefix(const std::vector<llama_token>& a, const std::vector<llama_token>& b) {
    const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
    return static_cast<std::size_t>(end - a.begin());
}

std::string with_capabilities(const std::string& description, const Preparer& preparer) {
    auto told = Json::parse(description);
    told["capabilities"] = preparer.capabilities();
    return text_of(told);
}

} // namespace

Model::Model(Backend& backend, Opened opened)
    : backend_(backend), opened_(std::move(opened)),
      preparer_(opened_.weights.get(), opened_.options, opened_.projector.get()),
      sequences_(opened_.options.parallel), batch_tokens_(opened_.options.batch),
      batch_positions_(opened_.options.batch), batch_ones_(opened_.options.batch, 1),
      sequence_ids_(opened_.options.parallel), batch_sequences_(opened_.options.batch),
      batch_outputs_(opened_.options.batch) {
    for (std::size_t i = 0; i < sequence_ids_.size(); ++i) {
        sequence_ids_[i] = static_cast<llama_seq_id>(i);
    }
    opened_.description = with_capabilities(opened_.description, preparer_);
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
    info.capabilities = SOTTO_CAPABILITY_BATCHABLE | SOTTO_CAPABILITY_ABORTABLE |
                        SOTTO_CAPABILITY_CONSTRAINABLE | SOTTO_CAPABILITY_LOGPROBS;
    info.streams = opened.options.parallel;
    info.context = opened.options.context;
    info.step_tokens = opened.options.batch;
    info.weights = opened.memory.weights;
    info.kv = opened.memory.kv;
    info.compute = opened.memory.compute;
    info.description = str(opened.description);
    info.fingerprint = str(opened.fingerprint);
    return info;
}

Stream* Model::open_stream(const sotto_stream_desc& desc, sotto_stream_info& info) {
    Call call(host(), Call::Abort::Throws);
    const auto body = Json::parse(view(desc.body), nullptr, false);
    if (!body.is_object()) {
        throw Error(SOTTO_ERROR_ARGUMENT, "the request is no JSON object");
    }
    result_ = preparer_.answer_at_once(desc.op, body);
    info.result = str(result_);
    if (!result_.empty()) {
        return nullptr;
    }
    auto prepared = preparer_.prepare(desc, body);
    std::size_t common = 0;
    const auto sequence = best_sequence(prepared.prompt, common);
    common = prepared.reuse ? common : 0;
    auto stream = std::make_unique<Stream>(std::move(prepared), sequence);
    auto& place = sequences_[static_cast<std::size_t>(sequence)];
    stream->held = cut_memory(*stream, stream->floor(common));
    stream->text.reserve(256);
    stops_ = stream->how.stops.empty() ? "" : text_of(stream->how.stops);
    place.tokens.clear();
    place.stream = stream.get();

    info.prompt_tokens = static_cast<std::uint32_t>(stream->prompt_size);
    info.cached_tokens = static_cast<std::uint32_t>(stream->held);
    info.dropped = stream->how.dropped;
    info.stops = str(stops_);
    info.parsed = stream->how.parser != nullptr;
    return stream.release();
}

sotto_str Model::parse(Stream& stream, std::string_view text, bool last) {
    Call call(host(), Call::Abort::Throws);
    stream.deltas = stream.how.parser ? stream.how.parser->deltas(text, last) : "[]";
    return str(stream.deltas);
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

// Makes the memory of `stream` hold its first `keep` tokens and no more. Where it cannot be cut there, as
// with recurrent states and sliding windows, it is emptied. Says how many tokens are left.
std::size_t Model::cut_memory(const Stream& stream, std::size_t keep) {
    auto* memory = llama_get_memory(opened_.context.get());
    const auto sequence = stream.sequence;
    const auto window = llama_model_n_swa(opened_.weights.get());
    const auto end = stream.position(keep);
    if (keep > 0 && llama_memory_seq_rm(memory, sequence, end, -1) &&
        llama_memory_seq_pos_max(memory, sequence) == stream.last_position(keep)) {
        const auto oldest = llama_memory_seq_pos_min(memory, sequence);
        if (keeps_all() ? oldest == 0 : window == 0 || oldest <= std::max(0, end - window)) {
            return keep;
        }
    }
    llama_memory_seq_rm(memory, sequence, -1, -1);
    return 0;
}

// Forgets the middle of what a full stream holds, so that its answer can go on. Where the model's memory
// cannot move what comes after, all that is kept is worked through again.
bool Model::make_room(Stream& stream) {
    if (stream.how.overflow != Overflow::Shift || stream.tokens.size() <= opened_.options.context) {
        return stream.tokens.size() <= opened_.options.context;
    }
    auto* memory = llama_get_memory(opened_.context.get());
    const auto keep = stream.floor(stream.how.keep);
    const auto forgotten = stream.ceiling(keep + (stream.tokens.size() - keep) / 2);
    const auto begin = stream.position(keep);
    const auto end = stream.position(forgotten);
    stream.forget(keep, forgotten);
    stream.prompt_size = std::min(stream.prompt_size, stream.tokens.size() - 1);
    if (llama_memory_can_shift(memory) && keeps_all() &&
        llama_memory_seq_rm(memory, stream.sequence, begin, end)) {
        llama_memory_seq_add(memory, stream.sequence, end, -1, begin - end);
        stream.held -= forgotten - keep;
    } else {
        stream.held = cut_memory(stream, std::min(stream.held, keep));
    }
    return true;
}

// Whether the memory keeps each token apart, for as long as the sequence lasts.
bool Model::keeps_all() const {
    const auto* model = opened_.weights.get();
    return llama_model_n_swa(model) == 0 && !llama_model_is_recurrent(model) && !llama_model_is_hybrid(model);
}

} // namespace sotto::llama
