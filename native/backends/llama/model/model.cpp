// An open model: its weights, contexts, KV cache and step runner.
#include "model/model.hpp"

#include "chat/jinja/limits.hpp"
#include "runtime/guard.hpp"
#include "runtime/json_parse.hpp"
#include "runtime/json_parts.hpp"
#include "runtime/memory_watch.hpp"

#include <utility>

namespace sotto::llama {
namespace {

std::string with_capabilities(const std::string& description, const Preparer& preparer) {
    auto json = parse_json(description);
    json["capabilities"] = preparer.capabilities();
    return text_of(json);
}

} // namespace

Model::Model(Backend& backend, Opened opened)
    : backend_(backend), opened_(std::move(opened)),
      preparer_(
          opened_.weights.get(), opened_.options, opened_.projector.get(), std::exchange(opened_.poll, {})
      ),
      kv_(opened_.weights.get(), opened_.options.parallel, opened_.options.context),
      steps_(
          opened_.options,
          *opened_.contexts,
          kv_,
          backend.pools,
          preparer_.tokenizer(),
          opened_.projector.get()
      ) {
    kv_.attach(opened_.contexts->get(), opened_.contexts->slots());
    opened_.description = with_capabilities(opened_.description, preparer_);
    backend_.pools.model_opened();
}

Model::~Model() {
    const Call call(host(), Call::Abort::Dies, loss());
    opened_.contexts.reset(); // contexts may point to pools that model_closed() frees
    backend_.pools.model_closed();
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
    const auto& request = stream->request;
    stops_ = request.stops.empty() ? "" : text_of(request.stops);
    kv_.open(stream->kv);

    info.prompt_tokens = static_cast<std::uint32_t>(stream->kv.tokens.prompt_size());
    info.cached_tokens = static_cast<std::uint32_t>(stream->kv.tokens.held());
    info.dropped = request.dropped;
    info.stops = str(stops_);
    info.parsed = request.parser != nullptr;
    return stream.release();
}

void Model::close_stream(Stream* stream) noexcept {
    const std::unique_ptr<Stream> owned(stream);
    kv_.close(stream->kv);
}

void Model::resize(std::uint32_t slots) {
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

AdapterLoader Model::adapters() const noexcept {
    return {opened_.weights.get(), opened_.options.at_once};
}

// Removes the adapter from the context first: the context compares addresses, and a later adapter
// can have the same address.
void Model::close_adapter(Adapter* adapter) noexcept {
    const std::unique_ptr<Adapter> owned(adapter);
    AdapterSet none;
    opened_.contexts->apply(none);
}

} // namespace sotto::llama
