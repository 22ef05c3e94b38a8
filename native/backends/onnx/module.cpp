// The backend "onnx": models that remove backgrounds, on ONNX Runtime. The C boundary of the module.
#include <sotto/module.h>

#include <memory>
#include <string>
#include <utility>

#include "abi/module_call.hpp"
#include "backends/onnx/log.hpp"
#include "backends/onnx/model.hpp"

namespace sotto::onnx {
namespace {

// What one engine holds of this module.
struct Backend {
    const sotto_backend_host& host;
};

sotto_status SOTTO_CALL
on_open(void*, const sotto_model_source* source, void** model, sotto_model_info* info, sotto_str* reason) {
    return abi::guarded_alone(reason, [&] {
        auto made = std::make_unique<Model>(*source);
        auto told = sotto_init<sotto_model_info>();
        made->describe(told);
        abi::write(info, told, info->struct_size);
        *model = made.release();
        return SOTTO_OK;
    });
}

sotto_status SOTTO_CALL
on_measure(void*, const sotto_model_source* source, sotto_model_info* info, sotto_str* reason) {
    return abi::guarded_alone(reason, [&] {
        auto told = sotto_init<sotto_model_info>();
        measure(*source, told);
        abi::write(info, told, info->struct_size);
        return SOTTO_OK;
    });
}

void SOTTO_CALL on_close(void*, void* model) {
    delete static_cast<Model*>(model);
}

sotto_status SOTTO_CALL on_prepare(
    void*,
    void* model,
    const sotto_stream_desc* desc,
    sotto_gate_fn cancelled,
    void* context,
    void** prepared,
    sotto_stream_info* info,
    sotto_str* reason
) {
    return abi::guarded_alone(reason, [&] {
        if (cancelled(context) != 0) {
            throw Error(SOTTO_ERROR_CANCELLED, "cancelled");
        }
        auto matting = static_cast<Model*>(model)->prepare(abi::view(desc->body));
        info->prompt_tokens = matting->units();
        *prepared = matting.release();
        return SOTTO_OK;
    });
}

void SOTTO_CALL on_prepared_close(void*, void*, void* prepared) {
    delete static_cast<Matting*>(prepared);
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
    std::unique_ptr<Matting> matting(static_cast<Matting*>(desc->prepared));
    return abi::guarded_call(model.why, reason, [&] {
        if (matting == nullptr) {
            matting = model.prepare(abi::view(desc->body));
        }
        info->prompt_tokens = matting->units();
        *stream = matting.release();
        return SOTTO_OK;
    });
}

void SOTTO_CALL on_stream_close(void*, void*, void* stream) {
    delete static_cast<Matting*>(stream);
}

sotto_status SOTTO_CALL on_step(void*, void* handle, const sotto_step* step, sotto_str* reason) {
    return abi::guarded_call(static_cast<Model*>(handle)->why, reason, [&] {
        for (std::uint32_t i = 0; i < step->count; ++i) {
            if (!static_cast<Matting*>(step->items[i]->stream)->step(*step, *step->items[i])) {
                throw Error(SOTTO_ERROR_CANCELLED, "cancelled");
            }
        }
        return SOTTO_OK;
    });
}

void SOTTO_CALL on_release(void* self) {
    const std::unique_ptr<Backend> backend(static_cast<Backend*>(self));
    Log::all().leave(backend->host);
}

sotto_status fill(const sotto_backend_host& host, sotto_backend& backend) {
    static constexpr std::string_view kName = "onnx";
    static constexpr std::string_view kDescription =
        R"({"version": "ONNX Runtime 1.17 or later, opened by the first model"})";
    if (host.struct_size < sizeof host || backend.struct_size < sizeof backend) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, "the engine is older than this module");
    }
    auto made = std::make_unique<Backend>(Backend{host});
    Log::all().join(host);
    auto ours = sotto_init<sotto_backend>();
    ours.uses = SOTTO_BACKEND_BY_NAME;
    ours.name = abi::str(kName);
    ours.description = abi::str(kDescription);
    ours.open = on_open;
    ours.measure = on_measure;
    ours.close = on_close;
    ours.prepare = on_prepare;
    ours.prepared_close = on_prepared_close;
    ours.stream_open = on_stream_open;
    ours.stream_close = on_stream_close;
    ours.step = on_step;
    ours.release = on_release;
    ours.self = made.release();
    abi::write(&backend, ours, backend.struct_size);
    return SOTTO_OK;
}

} // namespace
} // namespace sotto::onnx

extern "C" SOTTO_EXPORT sotto_status SOTTO_CALL
sotto_module_v1(const sotto_backend_host* host, sotto_backend* backend, sotto_str* reason) {
    using namespace sotto::onnx;
    return sotto::abi::guarded_alone(reason, [&] {
        if (host == nullptr || backend == nullptr) {
            throw sotto::Error(SOTTO_ERROR_ARGUMENT, "missing host or backend: expected a pointer, not NULL");
        }
        return fill(*host, *backend);
    });
}
