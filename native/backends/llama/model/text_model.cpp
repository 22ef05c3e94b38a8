// A model that generates text: its KV cache and step runner.
#include "model/text_model.hpp"

#include "chat/jinja/limits.hpp"
#include "runtime/guard.hpp"
#include "runtime/json_parse.hpp"
#include "runtime/json_parts.hpp"
#include "runtime/memory_watch.hpp"

#include <utility>

namespace sotto::llama {
namespace {

Stream& stream_of(void* stream) {
    return *static_cast<Stream*>(stream);
}

} // namespace

TextModel::TextModel(Backend& backend, Opened opened)
    : Model(backend, std::move(opened)),
      preparer_(
          opened_.weights.get(), opened_.options, opened_.projector.get(), std::exchange(opened_.poll, {})
      ),
      kv_(opened_.weights.get(),
          opened_.options.parallel,
          opened_.options.context,
          opened_.projector != nullptr),
      steps_(
          opened_.options,
          *opened_.contexts,
          kv_,
          backend.pools,
          preparer_.tokenizer(),
          opened_.projector.get()
      ) {
    kv_.attach(opened_.contexts->get(), opened_.contexts->slots());
    describe(preparer_.capabilities());
    backend_.pools.model_opened();
}

TextModel::~TextModel() {
    const Call call(host(), Call::Abort::Dies, loss());
    opened_.contexts.reset(); // contexts may point to pools that model_closed() frees
    backend_.pools.model_closed();
}

std::unique_ptr<PreparedRequest>
TextModel::prepare_body(const sotto_stream_desc& desc, const Json& body) const {
    const RequestRenders renders(throw_if_cancelled);
    auto prepared = std::make_unique<Prepared>();
    prepared->result = preparer_.answer_at_once(desc.op, body);
    if (prepared->result.empty()) {
        *prepared = preparer_.prepare(desc, body);
        prepared->alone = (desc.flags & SOTTO_STREAM_ALONE) != 0;
        prepared->reuse = prepared->reuse && !prepared->alone;
    }
    return prepared;
}

void* TextModel::open_prepared(
    const sotto_stream_desc& desc, PreparedRequest& prepared, sotto_stream_info& info
) {
    auto stream = std::make_unique<Stream>(std::move(static_cast<Prepared&>(prepared)), AdapterSet(desc));
    const auto& request = stream->request;
    stops_ = request.stops.empty() ? "" : text_of(request.stops);
    stream->kv.wanted = request.slot;
    kv_.open(stream->kv);

    info.prompt_tokens = static_cast<std::uint32_t>(stream->kv.tokens.prompt_size());
    info.cached_tokens = static_cast<std::uint32_t>(stream->kv.tokens.held());
    info.dropped = request.dropped;
    info.stops = str(stops_);
    info.parsed = request.parser != nullptr;
    info.slot = static_cast<std::uint32_t>(stream->kv.slot + 1);
    info.truncated = request.truncated ? 1 : 0;
    settings_ = request.settings;
    info.settings = str(settings_);
    return stream.release();
}

void TextModel::close_stream(void* stream) noexcept {
    const std::unique_ptr<Stream> owned(static_cast<Stream*>(stream));
    kv_.close(owned->kv);
}

void TextModel::park(void* stream) noexcept {
    kv_.park(stream_of(stream).kv);
}

std::uint32_t TextModel::unpark(void* stream) {
    return kv_.unpark(stream_of(stream).kv);
}

sotto_str TextModel::parse(void* stream, std::string_view text, bool last) {
    return stream_of(stream).parse(text, last);
}

std::uint32_t TextModel::save(void* stream, sotto_write_fn write, void* context) {
    return kv_.save(stream_of(stream).kv, write, context);
}

void TextModel::resize(std::uint32_t slots) {
    kv_.require_idle();
    if (const auto max = opened_.options.parallel; slots > max) {
        throw invalid_argument(
            "number of slots", std::to_string(slots), "at most " + std::to_string(max) + ", options.parallel"
        );
    }
    kv_.detach();
    opened_.contexts->resize(*Call::current(), slots);
    kv_.attach(opened_.contexts->get(), opened_.contexts->slots());
}

AdapterLoader TextModel::adapters() const {
    return {opened_.weights.get(), opened_.options.at_once};
}

// Removes the adapter from the context first: the context compares addresses, and a later adapter
// can have the same address.
void TextModel::close_adapter(Adapter* adapter) noexcept {
    const std::unique_ptr<Adapter> owned(adapter);
    AdapterSet none;
    opened_.contexts->apply(none);
}

} // namespace sotto::llama
