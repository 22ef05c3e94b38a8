// Defines sotto_module_v1(), the module's only exported symbol, and the backend functions that it returns.
#include "devices/module_devices.hpp"
#include "isa/isa_tier.hpp"
#include "llama_cpp/opening.hpp"
#include "llama_cpp/take_over.hpp"
#include "model/model.hpp"
#include "quantize/quantize.hpp"
#include "runtime/guard.hpp"
#include "runtime/json_parts.hpp"
#include "runtime/living.hpp"

#include <cstddef>

namespace sotto::llama {
namespace {

Backend& backend_of(void* self) {
    return *static_cast<Backend*>(self);
}

// Runs `body`, a call to a model, as living() does. Also checks that the model's device was not lost and that
// its file was not truncated.
template <typename Body>
sotto_status on_model(void* model, Call::Abort abort, sotto_str* why, Body&& body) noexcept {
    auto& on = *static_cast<Model*>(model);
    return living(on.why, why, [&] {
        const Call call(on.host(), abort, on.loss());
        try {
            on.check_file();
            const auto status = body(on);
            on.check_file();
            return status;
        } catch (const std::exception& error) {
            throw_if_lost(error);
            throw;
        }
    });
}

sotto_status SOTTO_CALL
on_open(void* self, const sotto_model_source* source, void** model, sotto_model_info* info, sotto_str* why) {
    return living(thread_why(), why, [&] {
        *model = nullptr;
        check_size(*source);
        check_size(*info);
        auto& backend = backend_of(self);
        auto opened = make_model(backend, open_model(backend, *source, Purpose::Run));
        write(info, opened->info());
        *model = opened.release();
        return SOTTO_OK;
    });
}

sotto_status SOTTO_CALL
on_measure(void* self, const sotto_model_source* source, sotto_model_info* info, sotto_str* why) {
    return living(thread_why(), why, [&] {
        check_size(*source);
        check_size(*info);
        auto& backend = backend_of(self);
        auto told = info_of(open_model(backend, *source, Purpose::Measure));
        told.description = {nullptr, 0}; // the text does not outlive this call
        write(info, told);
        return SOTTO_OK;
    });
}

sotto_status SOTTO_CALL on_quantize(void* self, const sotto_quantize_source* desc, sotto_str* why) {
    return living(thread_why(), why, [&] {
        check_size(*desc);
        quantize(backend_of(self).host, *desc);
        return SOTTO_OK;
    });
}

void SOTTO_CALL on_close(void*, void* model) {
    free_unless_it_ends(static_cast<Model*>(model));
}

void SOTTO_CALL on_release(void* self) {
    free_unless_it_ends(static_cast<Backend*>(self));
}

// Runs `body`, which reads a request. Reports JSON type errors as Error(SOTTO_ERROR_ARGUMENT).
template <typename Body>
void reading(Body&& body) {
    try {
        body();
    } catch (const Json::exception& error) { // a field of an unexpected type
        throw Error(SOTTO_ERROR_ARGUMENT, error.what());
    }
}

// Runs on another thread than the model's other functions, and concurrently with them.
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
    const auto& on = *static_cast<const Model*>(model);
    return living(thread_why(), why, [&] {
        Call call(on.host(), Call::Abort::Throws, on.loss());
        call.ask(cancelled, context);
        auto told = sotto_init<sotto_stream_info>();
        reading([&] {
            auto made = on.prepare(*desc);
            told.result = str(made->result);
            *prepared = made.release();
        });
        write(info, told);
        return SOTTO_OK;
    });
}

void SOTTO_CALL on_prepared_close(void*, void*, void* prepared) {
    delete static_cast<PreparedRequest*>(prepared);
}

// Takes over the request that on_prepare() prepared. Returns null if no request was prepared, or if the
// engine was built with an earlier header, whose struct ends before `prepared`.
std::unique_ptr<PreparedRequest> prepared_of(const sotto_stream_desc& desc) {
    constexpr auto kEnd = offsetof(sotto_stream_desc, prepared) + sizeof desc.prepared;
    return std::unique_ptr<PreparedRequest>(
        desc.struct_size < kEnd ? nullptr : static_cast<PreparedRequest*>(desc.prepared)
    );
}

sotto_status SOTTO_CALL on_stream_open(
    void*, void* model, const sotto_stream_desc* desc, void** stream, sotto_stream_info* info, sotto_str* why
) {
    auto prepared = prepared_of(*desc);
    return on_model(model, Call::Abort::Throws, why, [&](Model& on) {
        *stream = nullptr;
        auto told = sotto_init<sotto_stream_info>();
        reading([&] { *stream = on.open_stream(*desc, std::move(prepared), told); });
        write(info, told);
        return SOTTO_OK;
    });
}

void SOTTO_CALL on_stream_close(void*, void* model, void* stream) {
    static_cast<Model*>(model)->close_stream(stream);
}

sotto_status SOTTO_CALL
on_parse(void*, void* model, void* stream, sotto_str text, int32_t last, sotto_str* deltas, sotto_str* why) {
    return on_model(model, Call::Abort::Throws, why, [&](Model& on) {
        *deltas = on.parse(stream, view(text), last != 0);
        return SOTTO_OK;
    });
}

sotto_status SOTTO_CALL on_save(
    void*, void* model, void* stream, sotto_write_fn write, void* context, uint32_t* tokens, sotto_str* why
) {
    return on_model(model, Call::Abort::Throws, why, [&](Model& on) {
        *tokens = on.save(stream, write, context);
        return SOTTO_OK;
    });
}

sotto_status SOTTO_CALL on_restore(void*, void* model, sotto_str state, uint32_t* tokens, sotto_str* why) {
    return on_model(model, Call::Abort::Throws, why, [&](Model& on) {
        *tokens = on.restore(view(state));
        return SOTTO_OK;
    });
}

sotto_status SOTTO_CALL
on_slot_read(void*, void* model, uint32_t slot, sotto_slot_info* info, sotto_str* why) {
    return on_model(model, Call::Abort::Throws, why, [&](Model& on) {
        check_size(*info);
        write(info, on.slot_info(slot));
        return SOTTO_OK;
    });
}

sotto_status SOTTO_CALL on_slot_save(
    void*, void* model, uint32_t slot, sotto_write_fn write, void* context, uint32_t* tokens, sotto_str* why
) {
    return on_model(model, Call::Abort::Throws, why, [&](Model& on) {
        *tokens = on.save_slot(slot, write, context);
        return SOTTO_OK;
    });
}

sotto_status SOTTO_CALL
on_slot_restore(void*, void* model, uint32_t slot, sotto_str state, uint32_t* tokens, sotto_str* why) {
    return on_model(model, Call::Abort::Throws, why, [&](Model& on) {
        *tokens = on.restore_slot(slot, view(state));
        return SOTTO_OK;
    });
}

sotto_status SOTTO_CALL on_slot_erase(void*, void* model, uint32_t slot, uint32_t* tokens, sotto_str* why) {
    return on_model(model, Call::Abort::Throws, why, [&](Model& on) {
        *tokens = on.erase_slot(slot);
        return SOTTO_OK;
    });
}

void SOTTO_CALL on_park(void*, void* model, void* stream) {
    static_cast<Model*>(model)->park(stream);
}

sotto_status SOTTO_CALL on_unpark(void*, void* model, void* stream, uint32_t* remaining, sotto_str* why) {
    return on_model(model, Call::Abort::Throws, why, [&](Model& on) {
        *remaining = on.unpark(stream);
        return SOTTO_OK;
    });
}

// Resizes a model. `info` receives the model's memory, also if resizing fails.
sotto_status SOTTO_CALL
on_resize(void*, void* model, uint32_t slots, sotto_model_info* info, sotto_str* why) {
    return on_model(model, Call::Abort::Throws, why, [&](Model& on) {
        check_size(*info);
        const auto tell = [&] {
            auto told = on.info();
            told.description = told.fingerprint = {nullptr, 0};
            write(info, told);
        };
        try {
            on.resize(slots);
        } catch (const std::exception&) {
            tell();
            throw;
        }
        tell();
        return SOTTO_OK;
    });
}

sotto_status SOTTO_CALL on_adapter_measure(
    void*, void* model, const sotto_adapter_source* source, sotto_adapter_info* info, sotto_str* why
) {
    return on_model(model, Call::Abort::Throws, why, [&](Model& on) {
        check_size(*source);
        auto told = sotto_init<sotto_adapter_info>();
        told.bytes = on.adapters().measure(*source);
        write(info, told);
        return SOTTO_OK;
    });
}

sotto_status SOTTO_CALL on_adapter_open(
    void*,
    void* model,
    const sotto_adapter_source* source,
    void** adapter,
    sotto_adapter_info* info,
    sotto_str* why
) {
    return on_model(model, Call::Abort::Throws, why, [&](Model& on) {
        check_size(*source);
        auto told = sotto_init<sotto_adapter_info>();
        *adapter = on.adapters().load(*source, told.bytes).release();
        write(info, told);
        return SOTTO_OK;
    });
}

void SOTTO_CALL on_adapter_close(void*, void* model, void* adapter) {
    const Inside inside;
    if (inside) { // otherwise the process is exiting, which frees the adapter
        static_cast<Model*>(model)->close_adapter(static_cast<Adapter*>(adapter));
    }
}

sotto_status SOTTO_CALL on_step(void*, void* model, const sotto_step* step, sotto_str* why) {
    const auto status = on_model(model, Call::Abort::Throws, why, [&](Model& on) {
        on.step(*step);
        return SOTTO_OK;
    });
    if (status == SOTTO_ERROR_CANCELLED && process_ends()) { // cancelled by the exit, not by the engine
        return fail(SOTTO_ERROR_STATE, kExiting, static_cast<Model*>(model)->why, why);
    }
    return status;
}

std::string described(const std::vector<Device>& devices) {
    auto features = Json::array();
    for (unsigned i = 0; isa_feature(i) != nullptr; ++i) {
        if (*isa_feature(i) != '\0') {
            features.push_back(isa_feature(i));
        }
    }
    Json description = {
        {"version", std::string("llama.cpp ") + llama_version() + ", of " SOTTO_LLAMA_ORIGIN},
        {"build", std::string("b") + llama_version()},
        {"tier", kIsaTier.name},
        {"features", features},
    };
    if (!devices.empty()) {
        description["devices"] = describe(devices);
    }
    return text_of(description);
}

// Fills `theirs` with a new backend for one engine.
sotto_status fill(const sotto_backend_host& host, sotto_backend* theirs) {
    check_size(*theirs);
    check_size(host);
    refuse_after_fork();
    const auto& found = known_devices();
    keep_current(take_over_llama_cpp); // finding ggml's devices changes the thread's current one
    static const bool told = (end_with_process(), true);
    (void)told;
    auto made = std::make_unique<Backend>(host, found);
    made->description = described(made->devices);
    auto backend = sotto_init<sotto_backend>();
    static const auto name = backend_name("llama");
    backend.uses = kDeviceUses;
    backend.name = str(name);
    backend.description = str(made->description);
    backend.self = made.get();
    backend.open = on_open;
    backend.measure = on_measure;
    backend.close = on_close;
    backend.stream_open = on_stream_open;
    backend.stream_close = on_stream_close;
    backend.step = on_step;
    backend.stream_parse = on_parse;
    backend.state_save = on_save;
    backend.state_restore = on_restore;
    backend.stream_park = on_park;
    backend.stream_unpark = on_unpark;
    backend.resize = on_resize;
    backend.prepare = on_prepare;
    backend.prepared_close = on_prepared_close;
    backend.release = on_release;
    backend.adapter_measure = on_adapter_measure;
    backend.adapter_open = on_adapter_open;
    backend.adapter_close = on_adapter_close;
    backend.slot_read = on_slot_read;
    backend.slot_save = on_slot_save;
    backend.slot_restore = on_slot_restore;
    backend.slot_erase = on_slot_erase;
    backend.quantize = on_quantize;
    write(theirs, backend);
    static_cast<void>(made.release()); // on_release() frees it
    return SOTTO_OK;
}

} // namespace
} // namespace sotto::llama

extern "C" SOTTO_EXPORT sotto_status SOTTO_CALL
sotto_module_v1(const sotto_backend_host* host, sotto_backend* backend, sotto_str* why) {
    using namespace sotto::llama;
    end_opening();
    return guarded(thread_why(), why, [&] {
        require_isa();
        if (host == nullptr || backend == nullptr) {
            throw Error(SOTTO_ERROR_ARGUMENT, "missing host or backend: expected a pointer, not NULL");
        }
        return fill(*host, backend);
    });
}
