// Implements sotto/request.h, sotto/event.h, sotto/model.h and sotto/budget.h.
#include <cstdio>

#include "api/boundary.hpp"
#include "api/checks.hpp"
#include "api/handle.hpp"
#include "api/lent.hpp"
#include "core/codec/codec.hpp"
#include "core/model/built_in.hpp"

using namespace sotto::api;
using sotto::Error;
using sotto::Submission;

namespace {

void check_op(sotto_op op) {
    if (op == 0) {
        throw sotto::invalid_argument("desc->op", "0", "one of the SOTTO_OP_ values");
    }
    if (!sotto::is_operation(op)) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            sotto::invalid("desc->op", std::to_string(op), "an operation of this version of the library")
        );
    }
}

Submission submission_for(const sotto_model_desc* desc, Submission::Kind kind) {
    const auto requested = read(desc, "desc");
    Submission submission;
    submission.kind = kind;
    submission.id = required(requested.id, "desc->id");
    submission.path = utf8(requested.path, "desc->path");
    submission.backend = utf8(requested.backend, "desc->backend");
    if (submission.backend.empty()) {
        submission.backend = sotto::backend_for(submission.id, submission.path);
    }
    submission.options = view(requested.options, "desc->options");
    submission.user = requested.user;
    submission.flags = checked_request_flags(requested.flags, SOTTO_REQUEST_PRIVATE, "desc->flags");
    return submission;
}

// Returns the status of a call that requires a live request. Never allocates.
sotto_status found(bool live, sotto_request request) noexcept {
    if (live) {
        return SOTTO_OK;
    }
    char message[96];
    std::snprintf(
        message,
        sizeof message,
        "invalid request '%llu': it has ended, or was never submitted",
        static_cast<unsigned long long>(request)
    );
    return fail(SOTTO_ERROR_NOT_FOUND, message);
}

// Writes an event into the caller's struct.
void pack(const sotto::Event& happened, sotto_event* event, std::size_t room) noexcept {
    const sotto_event result{
        .struct_size = sizeof(sotto_event),
        .kind = happened.kind,
        .request = happened.request,
        .user = happened.user,
        .text = str(happened.text),
        .json = str(happened.json),
        .status = happened.status,
        .tokens = happened.tokens,
        .progress = happened.progress,
        .index = happened.index,
        .finish = happened.finish,
        .reserved = 0,
        .error = str(happened.error),
        .data = str(happened.large.size() == 0 ? happened.data : happened.large.view()),
    };
    write(event, result, room);
}

} // namespace

sotto_status
sotto_engine_submit(sotto_engine* engine, const sotto_request_desc* desc, sotto_request* request) {
    return guarded([&] {
        auto& out = deref(request, "request");
        out = 0;
        const Pin pinned(engine);
        const auto requested = read(desc, "desc");
        check_op(requested.op);
        Submission submission;
        submission.op = requested.op;
        submission.body = checked_size(view(requested.body, "desc->body"), "desc->body");
        submission.user = requested.user;
        submission.flags = checked_request_flags(requested.flags, kRequestFlags, "desc->flags");
        submission.target_tps = checked_tps(requested.target_tps, "desc->target_tps");
        submission.priority = checked_priority(requested.priority);
        submission.deadline_ns = checked_deadline(requested.deadline_ns);
        out = pinned->requests().submit(std::move(submission));
        return SOTTO_OK;
    });
}

sotto_status sotto_engine_cancel(sotto_engine* engine, sotto_request request) {
    return guarded([&] { return found(Pin(engine)->requests().cancel(request), request); });
}

sotto_status sotto_engine_discard_request(sotto_engine* engine, sotto_request request) {
    return guarded([&] { return found(Pin(engine)->requests().drop(request), request); });
}

sotto_status sotto_engine_set_request_tps(sotto_engine* engine, sotto_request request, float tps) {
    return guarded([&] {
        return found(Pin(engine)->set_request_tps(request, checked_tps(tps, "tps")), request);
    });
}

sotto_status sotto_engine_next_event(sotto_engine* engine, sotto_event* event) {
    return guarded([&]() -> sotto_status {
        const Pin pinned(engine);
        const auto room = caller_size(event, "event"); // checked before the event is removed from the queue
        const bool taken = pinned->requests().events().take(pinned->clock(), [&](const auto& happened) {
            pack(happened, event, room);
        });
        return taken ? SOTTO_OK : SOTTO_EMPTY;
    });
}

sotto_status sotto_engine_wait_request_event(
    sotto_engine* engine, sotto_request request, int32_t timeout_ms, sotto_event* event
) {
    return guarded([&] {
        const Pin pinned(engine);
        const auto room = caller_size(event, "event");
        // lent() may allocate and throw, so it is called before the event is removed from
        // the queue: a later failure would lose the event.
        auto& kept = lent().event;
        std::unique_ptr<sotto::Event> happened;
        const auto status = pinned->requests().wait_event(request, timeout_ms, happened);
        if (status == SOTTO_OK) {
            pack(*happened, event, room);
            kept = std::move(happened);
        }
        return status;
    });
}

sotto_status sotto_engine_wait_for_events(sotto_engine* engine, int32_t timeout_ms) {
    return guarded([&] {
        const auto status = Pin(engine)->requests().wait(timeout_ms);
        return status < 0 ? fail(status, "the engine was destroyed") : status;
    });
}

sotto_status
sotto_engine_load_model(sotto_engine* engine, const sotto_model_desc* desc, sotto_request* request) {
    return guarded([&] {
        auto& out = deref(request, "request");
        out = 0;
        const Pin pinned(engine);
        out = pinned->requests().submit(submission_for(desc, Submission::Kind::load));
        return SOTTO_OK;
    });
}

sotto_status sotto_engine_plan_model(
    sotto_engine* engine, const sotto_model_desc* desc, uint64_t budget, sotto_request* request
) {
    return guarded([&] {
        auto& out = deref(request, "request");
        out = 0;
        const Pin pinned(engine);
        auto submission = submission_for(desc, Submission::Kind::plan);
        submission.budget = budget;
        out = pinned->requests().submit(std::move(submission));
        return SOTTO_OK;
    });
}

sotto_status sotto_engine_memory(sotto_engine* engine, sotto_str* json) {
    return guarded([&] {
        auto& out = deref(json, "json");
        out = {};
        out = lend(Pin(engine)->memory());
        return SOTTO_OK;
    });
}

sotto_status sotto_engine_unload_model(
    sotto_engine* engine, sotto_str id, sotto_request_flags flags, sotto_request* request
) {
    return guarded([&] {
        auto& out = deref(request, "request");
        out = 0;
        const Pin pinned(engine);
        Submission submission;
        submission.kind = Submission::Kind::unload;
        submission.id = required(id, "id");
        submission.flags = checked_request_flags(flags, SOTTO_REQUEST_PRIVATE, "flags");
        out = pinned->requests().submit(std::move(submission));
        return SOTTO_OK;
    });
}

sotto_status sotto_engine_list_models(sotto_engine* engine, sotto_str* json) {
    return guarded([&] {
        auto& out = deref(json, "json");
        out = {};
        out = lend(Pin(engine)->list_models());
        return SOTTO_OK;
    });
}
