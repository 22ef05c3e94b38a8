// Implements sotto/adapter.h: unpacks arguments, calls the core, packs results.
#include <cmath>

#include "api/boundary.hpp"
#include "api/checks.hpp"
#include "api/handle.hpp"
#include "core/model/adapters.hpp"

using namespace sotto::api;
using sotto::Error;
using sotto::Submission;

namespace {

float checked_scale(float scale, const char* name) {
    constexpr float kMax = 1000;
    if (!(std::fabs(scale) <= kMax)) { // written so that NaN is refused too
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

Submission change_of(Submission::Kind kind, sotto_str model, sotto_str name, sotto_request_flags flags) {
    Submission requested;
    requested.kind = kind;
    requested.id = required(model, "model");
    requested.adapter = checked_adapter(name, "name");
    requested.flags = checked_request_flags(flags, SOTTO_REQUEST_PRIVATE, "flags");
    return requested;
}

} // namespace

sotto_status
sotto_engine_load_adapter(sotto_engine* engine, const sotto_adapter_desc* desc, sotto_request* request) {
    return guarded([&] {
        auto& out = deref(request, "request");
        out = 0;
        const Pin pinned(engine);
        const auto requested = read(desc, "desc");
        Submission submission;
        submission.kind = Submission::Kind::load_adapter;
        submission.id = required(requested.model, "desc->model");
        submission.adapter = checked_adapter(requested.name, "desc->name");
        submission.path = required(requested.path, "desc->path");
        submission.user = requested.user;
        submission.flags = checked_request_flags(requested.flags, SOTTO_REQUEST_PRIVATE, "desc->flags");
        submission.scale = requested.scale == 0 ? 1 : checked_scale(requested.scale, "desc->scale");
        out = pinned->requests().submit(std::move(submission));
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
        out = pinned->requests().submit(change_of(Submission::Kind::unload_adapter, model, name, flags));
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
        auto requested = change_of(Submission::Kind::scale_adapter, model, name, flags);
        requested.scale = checked_scale(scale, "scale");
        out = pinned->requests().submit(std::move(requested));
        return SOTTO_OK;
    });
}
