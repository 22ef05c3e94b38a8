// The backend "proxy": models that an OpenAI-compatible server answers for. The C boundary of the module.
#include <sotto/module.h>

#include <memory>
#include <string>
#include <utility>

#include "abi/module_call.hpp"
#include "backends/proxy/model.hpp"
#include "backends/proxy/text.hpp"

namespace sotto::proxy {
namespace {

// What one engine holds of this module.
struct Backend {
    std::shared_ptr<HostLink> host;
};

sotto_status SOTTO_CALL on_open(
    void* self, const sotto_model_source* source, void** model, sotto_model_info* info, sotto_str* reason
) {
    return abi::guarded_alone(reason, [&] {
        auto options = std::make_shared<const Options>(read_options(abi::view(source->options)));
        auto made = std::make_unique<Model>(options, static_cast<Backend*>(self)->host);
        if (options->check) {
            made->check(source->progress, source->context);
        }
        auto told = sotto_init<sotto_model_info>();
        made->describe(told);
        abi::write(info, told, info->struct_size);
        *model = made.release();
        return SOTTO_OK;
    });
}

void SOTTO_CALL on_close(void*, void* model) {
    delete static_cast<Model*>(model);
}

sotto_status SOTTO_CALL on_stream_open(
    void*,
    void* handle,
    const sotto_stream_desc* desc,
    void** stream,
    sotto_stream_info* info,
    sotto_str* reason
) {
    auto& model = *static_cast<Model*>(handle);
    return abi::guarded_call(model.why, reason, [&] {
        auto opened = model.open_stream(*desc);
        info->prompt_tokens = info->cached_tokens = 0; // the server counts them; see sotto_step_item
        info->parsed = desc->op == SOTTO_OP_CHAT ? 1 : 0;
        *stream = opened.release();
        return SOTTO_OK;
    });
}

void SOTTO_CALL on_stream_close(void*, void*, void* stream) {
    delete static_cast<Stream*>(stream);
}

sotto_status SOTTO_CALL on_parse(
    void*, void* handle, void* stream, sotto_str text, std::int32_t, sotto_str* deltas, sotto_str* reason
) {
    return abi::guarded_call(static_cast<Model*>(handle)->why, reason, [&] {
        *deltas = abi::str(static_cast<Stream*>(stream)->parse(abi::view(text)));
        return SOTTO_OK;
    });
}

sotto_status SOTTO_CALL on_step(void*, void* handle, const sotto_step* step, sotto_str* reason) {
    return abi::guarded_call(static_cast<Model*>(handle)->why, reason, [&] {
        for (std::uint32_t i = 0; i < step->count; ++i) {
            static_cast<Stream*>(step->items[i]->stream)->step(*step->items[i]);
        }
        return SOTTO_OK;
    });
}

void SOTTO_CALL on_release(void* self) {
    const std::unique_ptr<Backend> backend(static_cast<Backend*>(self));
    backend->host->leave();
}

sotto_status fill(const sotto_backend_host& host, sotto_backend& backend) {
    static constexpr std::string_view kName = "proxy";
#ifdef SOTTO_PROXY_TLS
    static constexpr std::string_view kDescription = R"({"version": "cpp-httplib", "tls": "BoringSSL"})";
#else
    static constexpr std::string_view kDescription = R"({"version": "cpp-httplib", "tls": null})";
#endif
    if (host.struct_size < sizeof host || backend.struct_size < sizeof backend) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, "the engine is older than this module");
    }
    auto made = std::make_unique<Backend>(Backend{std::make_shared<HostLink>(host)});
    auto ours = sotto_init<sotto_backend>();
    ours.uses = SOTTO_BACKEND_BY_NAME;
    ours.name = abi::str(kName);
    ours.description = abi::str(kDescription);
    ours.open = on_open;
    ours.close = on_close;
    ours.stream_open = on_stream_open;
    ours.stream_close = on_stream_close;
    ours.step = on_step;
    ours.stream_parse = on_parse;
    ours.release = on_release;
    ours.self = made.release();
    abi::write(&backend, ours, backend.struct_size);
    return SOTTO_OK;
}

} // namespace
} // namespace sotto::proxy

extern "C" SOTTO_EXPORT sotto_status SOTTO_CALL
sotto_module_v1(const sotto_backend_host* host, sotto_backend* backend, sotto_str* reason) {
    using namespace sotto::proxy;
    return sotto::abi::guarded_alone(reason, [&] {
        if (host == nullptr || backend == nullptr) {
            throw sotto::Error(SOTTO_ERROR_ARGUMENT, "missing host or backend: expected a pointer, not NULL");
        }
        return fill(*host, *backend);
    });
}
