// A model that is open, and the streams that come and go.
#include "model/model.hpp"

#include "chat/jinja/limits.hpp"
#include "runtime/guard.hpp"
#include "runtime/json_parse.hpp"
#include "runtime/json_parts.hpp"
#include "runtime/memory_watch.hpp"

#include <algorithm>
#include <utility>

namespace sotto::llama {
namespace {

std::string with_capabilities(const std::string& description, const Preparer& preparer) {
    auto told = parse_json(description);
    told["capabilities"] = preparer.capabilities();
    return text_of(told);
}

} // namespace

Model::Model(Backend& backend, Opened opened)
    : backend_(backend), opened_(std::move(opened)),
      preparer_(
          opened_.weights.get(), opened_.options, opened_.projector.get(), std::exchange(opened_.poll, {})
      ),
      sequences_(opened_.places), batch_tokens_(opened_.options.batch),
      batch_positions_(opened_.options.batch), batch_ones_(opened_.options.batch, 1),
      sequence_ids_(opened_.options.parallel), batch_sequences_(opened_.options.batch),
      batch_outputs_(opened_.options.batch) {
    sequences_.reserve(opened_.options.parallel); // so that resize() cannot fail there
    for (std::size_t i = 0; i < sequence_ids_.size(); ++i) {
        sequence_ids_[i] = static_cast<llama_seq_id>(i);
    }
    opened_.description = with_capabilities(opened_.description, preparer_);
    watch();
    backend_.pools.model_opened();
}

Model::~Model() {
    Call call(host(), Call::Abort::Dies, loss());
    opened_.context.reset(); // before the pools that they may still point at
    opened_.draft.reset();
    backend_.pools.model_closed();
}

// Makes contexts that are new ask the gate, and sees what they are like.
void Model::watch() {
    form_ = opened_.context ? StateForm(opened_.context.get()) : StateForm();
    for (auto* context : {opened_.context.get(), opened_.draft ? opened_.draft->context() : nullptr}) {
        if (context != nullptr) {
            llama_set_abort_callback(context, on_gate, this);
        }
    }
}

sotto_model_info info_of(const Opened& opened) {
    auto info = sotto_init<sotto_model_info>();
    info.capabilities = SOTTO_CAPABILITY_BATCHABLE | SOTTO_CAPABILITY_CONSTRAINABLE |
                        SOTTO_CAPABILITY_LOGPROBS | SOTTO_CAPABILITY_PARKABLE | SOTTO_CAPABILITY_PREPARABLE;
    const bool on_device = opened.options.device != nullptr;
    info.capabilities |= on_device ? 0 : SOTTO_CAPABILITY_ABORTABLE; // what a device has begun it ends
    info.streams = opened.places;
    info.context = opened.options.context;
    info.step_tokens = opened.options.batch;
    constexpr std::uint32_t kFlashLeast = 64; // tokens, that it is slow below; see choose_attention()
    const bool flash = opened.options.flash_attention != Options::FlashAttention::Off;
    info.min_step_tokens = flash && !on_device ? std::min(kFlashLeast, opened.options.batch) : 0;
    const auto memory = memory_of(opened);
    info.weights = memory.weights;
    info.kv = memory.kv;
    info.compute = memory.compute;
    info.description = str(opened.description);
    info.fingerprint = str(opened.fingerprint);
    info.shrinkable = SOTTO_SHRINKABLE_PLACES | opened.options.shrinkable;
    info.min_stream_tokens = opened.options.min_context;
    info.host = memory.host;
    info.layers = opened.options.gpu_layers;
    return info;
}

std::unique_ptr<Prepared> Model::prepare(const sotto_stream_desc& desc) const {
    const auto body = parse_json(view(desc.body));
    if (!body.is_object()) {
        throw Error(SOTTO_ERROR_ARGUMENT, "invalid request: expected a JSON object");
    }
    const RequestRenders renders(throw_if_cancelled);
    return MemoryWatch::over([&] {
        auto prepared = std::make_unique<Prepared>();
        prepared->result = preparer_.answer_at_once(desc.op, body);
        if (prepared->result.empty()) {
            *prepared = preparer_.prepare(desc, body);
            prepared->alone = (desc.flags & SOTTO_STREAM_ALONE) != 0;
            prepared->reuse = prepared->reuse && !prepared->alone;
        }
        return prepared;
    });
}

Stream* Model::open_stream(
    const sotto_stream_desc& desc, std::unique_ptr<Prepared> prepared, sotto_stream_info& info
) {
    if (prepared == nullptr) {
        prepared = prepare(desc);
    }
    if (!prepared->result.empty()) {
        result_ = std::move(prepared->result);
        info.result = str(result_);
        return nullptr;
    }
    auto stream = std::make_unique<Stream>(std::move(*prepared), AdapterSet(desc));
    stops_ = stream->how.stops.empty() ? "" : text_of(stream->how.stops);
    take_place(*stream);

    info.prompt_tokens = static_cast<std::uint32_t>(stream->prompt_size);
    info.cached_tokens = static_cast<std::uint32_t>(stream->held);
    info.dropped = stream->how.dropped;
    info.stops = str(stops_);
    info.parsed = stream->how.parser != nullptr;
    return stream.release();
}

void Model::use_threads(const sotto_step& step) {
    auto* context = opened_.context.get();
    if (context == nullptr) {
        return; // there are no places, and nothing computes
    }
    const auto threads = std::clamp(step.threads, 1u, static_cast<std::uint32_t>(GGML_MAX_N_THREADS));
    ggml_threadpool* pool = nullptr;
    {
        Call call(host(), Call::Abort::Throws); // a thread that cannot be had is no reason to die
        pool = backend_.pools.of(step.thread_class, threads);
    }
    if (pool != pool_) {
        llama_attach_threadpool(context, pool, pool);
        if (opened_.draft) {
            llama_attach_threadpool(opened_.draft->context(), pool, pool);
        }
        pool_ = pool;
    }
    if (static_cast<std::int32_t>(threads) != threads_) {
        threads_ = static_cast<std::int32_t>(threads);
        llama_set_n_threads(context, threads_, threads_);
        if (opened_.draft) {
            llama_set_n_threads(opened_.draft->context(), threads_, threads_);
        }
    }
}

sotto_str Model::parse(Stream& stream, std::string_view text, bool last) {
    stream.deltas = stream.how.parser ? stream.how.parser->deltas(text, last) : "[]";
    return str(stream.deltas);
}

void Model::close_stream(Stream* stream) noexcept {
    const std::unique_ptr<Stream> owned(stream);
    if (stream->parked()) {
        forget_parked(*stream);
    } else {
        leave(*stream, false);
    }
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
        stream.moved = decoded_ + 1;
        stream.held -= forgotten - keep;
        stream.exact = std::min(stream.exact, keep);
    } else {
        stream.hold(cut_memory(stream, std::min(stream.held, keep)));
    }
    return true;
}

} // namespace sotto::llama
