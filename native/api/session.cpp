// Implements sotto/session.h: each call submits a request whose JSON body is built here.
#include "api/session.hpp"
#include "api/boundary.hpp"
#include "api/checks.hpp"
#include "api/handle.hpp"
#include "core/session/session_body.hpp"

using namespace sotto::api;
using sotto::Error;
using sotto::Submission;

namespace {

// Returns the tokens of a token session; nullopt: the session holds messages.
std::optional<std::span<const std::int32_t>> tokens_of(const sotto_session_desc& desc) {
    constexpr std::uint32_t kMax = 4 << 20; // so that their JSON has less than 64 MiB
    if (desc.tokens == nullptr && desc.token_count == 0) {
        return std::nullopt;
    }
    require(desc.tokens, "desc->tokens");
    if (desc.token_count > kMax) {
        throw sotto::invalid_argument(
            "desc->token_count", std::to_string(desc.token_count), "at most " + std::to_string(kMax)
        );
    }
    return std::span(desc.tokens, desc.token_count);
}

} // namespace

namespace sotto::api {

sotto_status submit(const Pin& pinned, Submission requested, sotto_request* request) {
    const auto id = pinned->requests().submit(std::move(requested));
    if (request != nullptr) {
        *request = id;
    }
    return SOTTO_OK;
}

Submission about(sotto_op op, std::string body, sotto_request_flags flags, const sotto_request* request) {
    Submission requested;
    requested.op = op;
    requested.body = checked_size(body, "desc");
    requested.flags = checked_request_flags(flags, SOTTO_REQUEST_PRIVATE, "flags");
    if (request == nullptr && (requested.flags & SOTTO_REQUEST_PRIVATE) != 0) {
        throw Error(
            SOTTO_ERROR_ARGUMENT, "missing request: expected a pointer, not NULL, with SOTTO_REQUEST_PRIVATE"
        );
    }
    return requested;
}

} // namespace sotto::api

sotto_status
sotto_engine_open_session(sotto_engine* engine, const sotto_session_desc* desc, sotto_request* request) {
    return guarded([&] {
        clear(request);
        const Pin pinned(engine);
        const auto given = read(desc, "desc");
        sotto::SessionOpening opening;
        opening.id = required(given.id, "desc->id");
        opening.model = utf8(given.model, "desc->model");
        opening.system = checked_size(utf8(given.system, "desc->system"), "desc->system");
        opening.messages = checked_size(view(given.messages, "desc->messages"), "desc->messages");
        opening.from = utf8(given.from, "desc->from");
        opening.keep = given.keep;
        opening.pinned = given.pinned != 0;
        opening.tokens = tokens_of(given);
        auto requested = about(SOTTO_OP_OPEN_SESSION, open_session_body(opening), given.flags, request);
        requested.user = given.user;
        return submit(pinned, std::move(requested), request);
    });
}

sotto_status sotto_engine_set_session_system(
    sotto_engine* engine, sotto_str id, sotto_str text, sotto_request_flags flags, sotto_request* request
) {
    return guarded([&] {
        clear(request);
        const Pin pinned(engine);
        auto body =
            sotto::session_body(required(id, "id"), std::nullopt, checked_size(utf8(text, "text"), "text"));
        return submit(pinned, about(SOTTO_OP_CHANGE_SESSION, std::move(body), flags, request), request);
    });
}

sotto_status sotto_engine_rewind_session(
    sotto_engine* engine, sotto_str id, uint32_t turns, sotto_request_flags flags, sotto_request* request
) {
    return guarded([&] {
        clear(request);
        const Pin pinned(engine);
        auto body = sotto::rewind_body(required(id, "id"), turns == 0 ? 1 : turns);
        return submit(pinned, about(SOTTO_OP_EDIT_SESSION, std::move(body), flags, request), request);
    });
}

sotto_status sotto_engine_pin_session(
    sotto_engine* engine, sotto_str id, int32_t keep, sotto_request_flags flags, sotto_request* request
) {
    return guarded([&] {
        clear(request);
        const Pin pinned(engine);
        auto body = sotto::session_body(required(id, "id"), keep != 0);
        return submit(pinned, about(SOTTO_OP_CHANGE_SESSION, std::move(body), flags, request), request);
    });
}

sotto_status sotto_engine_read_session(
    sotto_engine* engine, sotto_str id, sotto_request_flags flags, sotto_request* request
) {
    return guarded([&] {
        deref(request, "request") = 0;
        const Pin pinned(engine);
        auto body = sotto::session_body(utf8(id, "id"));
        return submit(pinned, about(SOTTO_OP_READ_SESSION, std::move(body), flags, request), request);
    });
}

sotto_status sotto_engine_close_session(
    sotto_engine* engine, sotto_str id, sotto_request_flags flags, sotto_request* request
) {
    return guarded([&] {
        clear(request);
        const Pin pinned(engine);
        auto body = sotto::session_body(required(id, "id"));
        return submit(pinned, about(SOTTO_OP_CLOSE_SESSION, std::move(body), flags, request), request);
    });
}

sotto_status sotto_engine_say(sotto_engine* engine, const sotto_say_desc* desc, sotto_request* request) {
    return guarded([&] {
        deref(request, "request") = 0;
        const Pin pinned(engine);
        const auto given = read(desc, "desc");
        sotto::SessionTurn turn;
        turn.session = required(given.session, "desc->session");
        turn.text = checked_size(utf8(given.text, "desc->text"), "desc->text");
        turn.fields = checked_size(view(given.fields, "desc->fields"), "desc->fields");
        turn.max_tokens = given.max_tokens;
        Submission requested;
        requested.op = SOTTO_OP_CHAT;
        requested.body = checked_size(say_body(turn), "desc");
        requested.user = given.user;
        requested.flags = checked_request_flags(given.flags, kRequestFlags, "desc->flags");
        requested.target_tps = checked_tps(given.target_tps, "desc->target_tps");
        requested.priority = checked_priority(given.priority);
        requested.deadline_ns = checked_deadline(given.deadline_ns);
        return submit(pinned, std::move(requested), request);
    });
}
