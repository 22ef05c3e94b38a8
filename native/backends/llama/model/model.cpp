// An open model: what models that generate text and models that embed texts have in common.
#include "model/model.hpp"

#include "embed/embedding_model.hpp"
#include "model/text_model.hpp"
#include "runtime/json_parse.hpp"
#include "runtime/memory_watch.hpp"

namespace sotto::llama {
namespace {

[[noreturn]] void refuse_function(const char* what) {
    throw Error(SOTTO_ERROR_UNSUPPORTED, std::string("a model that embeds texts has no ") + what);
}

} // namespace

std::unique_ptr<PreparedRequest> Model::prepare(const sotto_stream_desc& desc) const {
    const auto body = parse_json(view(desc.body));
    if (!body.is_object()) {
        throw Error(SOTTO_ERROR_ARGUMENT, "invalid request: expected a JSON object");
    }
    return MemoryWatch::over([&] { return prepare_body(desc, body); });
}

void* Model::open_stream(
    const sotto_stream_desc& desc, std::unique_ptr<PreparedRequest> prepared, sotto_stream_info& info
) {
    if (prepared == nullptr) {
        prepared = prepare(desc);
    }
    if (!prepared->result.empty()) {
        result_ = std::move(prepared->result);
        info.result = str(result_);
        return nullptr;
    }
    return open_prepared(desc, *prepared, info);
}

void Model::describe(const Json& capabilities) {
    auto description = parse_json(opened_.description);
    description["capabilities"] = capabilities;
    opened_.description = text_of(description);
}

sotto_str Model::parse(void*, std::string_view, bool) {
    refuse_function("answers to parse");
}

std::uint32_t Model::save(void*, sotto_write_fn, void*) {
    refuse_function("saved states");
}

std::uint32_t Model::restore(std::string_view) {
    refuse_function("saved states");
}

sotto_slot_info Model::slot_info(std::uint32_t) const {
    refuse_function("slots");
}

std::uint32_t Model::save_slot(std::uint32_t, sotto_write_fn, void*) {
    refuse_function("saved states");
}

std::uint32_t Model::restore_slot(std::uint32_t, std::string_view) {
    refuse_function("saved states");
}

std::uint32_t Model::erase_slot(std::uint32_t) {
    refuse_function("slots to erase");
}

void Model::resize(std::uint32_t) {
    refuse_function("slots to resize");
}

AdapterLoader Model::adapters() const {
    refuse_function("adapters; load the adapter for a model that generates text");
}

void Model::close_adapter(Adapter*) noexcept {}

std::unique_ptr<Model> make_model(Backend& backend, Opened opened) {
    if (embeds(opened.options)) {
        return std::make_unique<EmbeddingModel>(backend, std::move(opened));
    }
    return std::make_unique<TextModel>(backend, std::move(opened));
}

} // namespace sotto::llama
