// Implements sotto/adapter.h: unpacks arguments, calls the core, packs results.
#include <cmath>

#include "api/boundary.hpp"
#include "api/checks.hpp"
#include "api/handle.hpp"
#include "core/model/adapters.hpp"

using namespace sotto::api;
using sotto::Asked;
using sotto::Error;

namespace {

float checked_scale(float scale, const char* name) {
    constexpr float kMost = 1000;
    if (!(std::fabs(scale) <= kMost)) { // written so that NaN is refused too
        throw sotto::invalid_argument(name, std::to_string(scale), "a number from -1000 to 1000");
    }
    return scale;
}

std::string checked_adapter(sotto_str text, const char* name) {
    constexpr std::size_t kLongest = 128;
    const auto value = utf8(text, name);
    if (value.size() > kLongest) {
        throw sotto::invalid_argument(
            name, std::to_string(value.size()) + " bytes", "1 to " + std::to_string(kLongest) + " bytes"
        );
    }
    return value.empty() ? sotto::kDefaultAdapter : std::string(value);
}

Asked change_of(Asked::What what, sotto_str model, sotto_str name, sotto_request_flags flags) {
    Asked asked;
    asked.what = what;
    asked.id = required(model, "model");
    asked.adapter = checked_adapter(name, "name");
    asked.flags = checked_request_flags(flags, SOTTO_REQUEST_PRIVATE, "flags");
    return asked;
}

} // namespace

sotto_status
sotto_engine_load_adapter(sotto_engine* engine, const sotto_adapter_desc* desc, sotto_request* request) {
    return guarded([&] {
        auto& out = deref(request, "request");
        out = 0;
        const Pin pinned(engine);
        const auto asked = read(desc, "desc");
        Asked wish;
        wish.what = Asked::What::load_adapter;
        wish.id = required(asked.model, "desc->model");
        wish.adapter = checked_adapter(asked.name, "desc->name");
        wish.path = required(asked.path, "desc->path");
        wish.user = asked.user;
        wish.flags = checked_request_flags(asked.flags, SOTTO_REQUEST_PRIVATE, "desc->flags");
        wish.scale = asked.scale == 0 ? 1 : checked_scale(asked.scale, "desc->scale");
        out = pinned->requests().submit(std::move(wish));
        return SOTTO_OK;
    });
}

sotto_status sotto_engine_unload_adapter(
    sotto_engine* engine, sotto_str model, sotto_str name, sotto_request_flags flags, sotto_request* request
) {
    return guarded([&] {
        auto& out = deref(request, "request");
        out = 0;
        const Pin pinned(engine);
        out = pinned->requests().submit(change_of(Asked::What::unload_adapter, model, name, flags));
        return SOTTO_OK;
    });
}

sotto_status sotto_engine_set_adapter_scale(
    sotto_engine* engine,
    sotto_str model,
    sotto_str name,
    float scale,
    sotto_request_flags flags,
    sotto_request* request
) {
    return guarded([&] {
        auto& out = deref(request, "request");
        out = 0;
        const Pin pinned(engine);
        auto asked = change_of(Asked::What::scale_adapter, model, name, flags);
        asked.scale = checked_scale(scale, "scale");
        out = pinned->requests().submit(std::move(asked));
        return SOTTO_OK;
    });
}
