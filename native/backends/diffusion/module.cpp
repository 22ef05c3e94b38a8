// The backend "diffusion": models that generate images, on stable-diffusion.cpp. The C boundary of the
// module.
#include <sotto/module.h>

#include <memory>
#include <utility>

#include <ggml-backend.h>
#include <stable-diffusion.h>

#include "backends/diffusion/model.hpp"
#include "devices/module_devices.hpp"
#include "isa/isa_tier.hpp"
#include "llama_cpp/opening.hpp"
#include "runtime/guard.hpp"
#include "runtime/living.hpp"

namespace sotto::diffusion {
namespace {

using llama::Call;
using llama::check_size;
using llama::Error;
using llama::fail;
using llama::living;
using llama::thread_why;

// What one engine holds of this module.
struct Backend {
    const sotto_backend_host& host;
    const std::vector<llama::Device>& devices;
    std::string description;
};

sotto_status SOTTO_CALL
on_open(void* self, const sotto_model_source* source, void** model, sotto_model_info* info, sotto_str* why) {
    return living(thread_why(), why, [&] {
        *model = nullptr;
        check_size(*source);
        check_size(*info);
        const auto& backend = *static_cast<const Backend*>(self);
        auto made = std::make_unique<Model>(*source, backend.host, backend.devices);
        auto told = sotto_init<sotto_model_info>();
        made->describe(told);
        llama::write(info, told);
        *model = made.release();
        return SOTTO_OK;
    });
}

sotto_status SOTTO_CALL
on_measure(void* self, const sotto_model_source* source, sotto_model_info* info, sotto_str* why) {
    return living(thread_why(), why, [&] {
        check_size(*source);
        check_size(*info);
        auto told = sotto_init<sotto_model_info>();
        measure(*source, static_cast<const Backend*>(self)->devices, told);
        llama::write(info, told);
        return SOTTO_OK;
    });
}

void SOTTO_CALL on_close(void*, void* model) {
    llama::free_unless_it_ends(static_cast<Model*>(model));
}

sotto_status SOTTO_CALL on_prepare(
    void*,
    void* model,
    const sotto_stream_desc* desc,
    sotto_gate_fn cancelled,
    void* context,
    void** prepared,
    sotto_stream_info* info,
    sotto_str* why
) {
    return living(thread_why(), why, [&] {
        if (cancelled(context) != 0) {
            throw Error(SOTTO_ERROR_CANCELLED, "cancelled");
        }
        auto picture = static_cast<const Model*>(model)->prepare(llama::view(desc->body));
        info->prompt_tokens = picture->units();
        *prepared = picture.release();
        return SOTTO_OK;
    });
}

void SOTTO_CALL on_prepared_close(void*, void*, void* prepared) {
    llama::free_unless_it_ends(static_cast<Picture*>(prepared));
}

sotto_status SOTTO_CALL on_stream_open(
    void*, void* handle, const sotto_stream_desc* desc, void** stream, sotto_stream_info* info, sotto_str* why
) {
    auto& model = *static_cast<Model*>(handle);
    std::unique_ptr<Picture> picture(static_cast<Picture*>(desc->prepared));
    return living(model.why, why, [&] {
        if (picture == nullptr) {
            picture = model.prepare(llama::view(desc->body));
        }
        picture->use(adapters_of(*desc));
        info->prompt_tokens = picture->units();
        *stream = picture.release();
        return SOTTO_OK;
    });
}

void SOTTO_CALL on_stream_close(void*, void*, void* stream) {
    llama::free_unless_it_ends(static_cast<Picture*>(stream));
}

sotto_status SOTTO_CALL on_step(void*, void* handle, const sotto_step* step, sotto_str* why) {
    auto& model = *static_cast<Model*>(handle);
    const auto status = living(model.why, why, [&] {
        for (std::uint32_t i = 0; i < step->count; ++i) {
            if (!static_cast<Picture*>(step->items[i]->stream)->step(*step, *step->items[i])) {
                throw Error(SOTTO_ERROR_CANCELLED, "cancelled");
            }
        }
        return SOTTO_OK;
    });
    if (status == SOTTO_ERROR_CANCELLED &&
        llama::process_ends()) { // cancelled by the exit, not by the engine
        return fail(SOTTO_ERROR_STATE, llama::kExiting, model.why, why);
    }
    return status;
}

sotto_status SOTTO_CALL on_adapter_measure(
    void*, void* handle, const sotto_adapter_source* source, sotto_adapter_info* info, sotto_str* why
) {
    return living(static_cast<Model*>(handle)->why, why, [&] {
        check_size(*source);
        auto told = sotto_init<sotto_adapter_info>();
        told.bytes = check_adapter(*source).bytes;
        llama::write(info, told);
        return SOTTO_OK;
    });
}

sotto_status SOTTO_CALL on_adapter_open(
    void*,
    void* handle,
    const sotto_adapter_source* source,
    void** adapter,
    sotto_adapter_info* info,
    sotto_str* why
) {
    auto& model = *static_cast<Model*>(handle);
    return living(model.why, why, [&] {
        check_size(*source);
        auto opened = model.open_adapter(*source);
        auto told = sotto_init<sotto_adapter_info>();
        told.bytes = opened->bytes;
        llama::write(info, told);
        *adapter = opened.release();
        return SOTTO_OK;
    });
}

void SOTTO_CALL on_adapter_close(void*, void* model, void* adapter) {
    static_cast<Model*>(model)->close_adapter(std::unique_ptr<Adapter>(static_cast<Adapter*>(adapter)));
}

void SOTTO_CALL on_release(void* self) {
    llama::free_unless_it_ends(static_cast<Backend*>(self));
}

sotto_status fill(const sotto_backend_host& host, sotto_backend* theirs) {
    check_size(*theirs);
    check_size(host);
    llama::refuse_after_fork();
    const auto& devices = llama::known_devices();
    llama::keep_current([] { // finding ggml's devices changes the thread's current one
        llama::take_over_ggml();
        ggml_backend_reg_count();
    });
    sd_set_preview_callback(nullptr, PREVIEW_PROJ, 1, true, false, nullptr); // see preview_callback()
    static const bool told = (llama::end_with_process(), true);
    (void)told;
    auto made = std::make_unique<Backend>(Backend{host, devices, {}});
    llama::Json description = {
        {"version", "stable-diffusion.cpp, of stable-diffusion-cpp-python 0.4.7"},
        {"tier", llama::kIsaTier.name}
    };
    if (!devices.empty()) {
        description["devices"] = llama::describe(devices);
    }
    made->description = description.dump();
    static const auto name = llama::backend_name("diffusion");
    auto backend = sotto_init<sotto_backend>();
    backend.uses = SOTTO_BACKEND_BY_NAME | llama::kDeviceUses;
    backend.name = llama::str(name);
    backend.description = llama::str(made->description);
    backend.open = on_open;
    backend.measure = on_measure;
    backend.close = on_close;
    backend.prepare = on_prepare;
    backend.prepared_close = on_prepared_close;
    backend.stream_open = on_stream_open;
    backend.stream_close = on_stream_close;
    backend.step = on_step;
    backend.release = on_release;
    backend.adapter_measure = on_adapter_measure;
    backend.adapter_open = on_adapter_open;
    backend.adapter_close = on_adapter_close;
    backend.self = made.release();
    llama::write(theirs, backend);
    return SOTTO_OK;
}

} // namespace
} // namespace sotto::diffusion

extern "C" SOTTO_EXPORT sotto_status SOTTO_CALL
sotto_module_v1(const sotto_backend_host* host, sotto_backend* backend, sotto_str* why) {
    using namespace sotto;
    llama::end_opening();
    return llama::guarded(llama::thread_why(), why, [&] {
        llama::require_isa();
        if (host == nullptr || backend == nullptr) {
            throw llama::Error(SOTTO_ERROR_ARGUMENT, "missing host or backend: expected a pointer, not NULL");
        }
        return diffusion::fill(*host, backend);
    });
}
