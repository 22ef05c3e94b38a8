#include "support/game.hpp"

#include <chrono>

#include <doctest/doctest.h>

#include "api/handle.hpp"
#include "core/engine.hpp"
#include "text/json_reader.hpp"

namespace test {

Told::Told(const sotto_event& event)
    : kind(event.kind), request(event.request), user(event.user), text(text_of(event.text)),
      json(text_of(event.json)), status(event.status), tokens(event.tokens), progress(event.progress),
      index(event.index), finish(event.finish), error(text_of(event.error)), data(text_of(event.data)) {}

std::string last_error() {
    return text_of(sotto_last_error());
}

std::string said(const History& history) {
    std::string whole;
    for (const auto& event : history) {
        whole += event.kind == SOTTO_EVENT_TEXT ? event.text : "";
    }
    return whole;
}

std::size_t count(const History& history, sotto_event_kind kind) {
    std::size_t found = 0;
    for (const auto& event : history) {
        found += event.kind == kind ? 1 : 0;
    }
    return found;
}

const Told& done(const History& history) {
    REQUIRE(!history.empty());
    REQUIRE(history.back().kind == SOTTO_EVENT_REQUEST_DONE);
    return history.back();
}

std::string quoted(std::string_view text) {
    return sotto::to_text(sotto::Json(text));
}

std::string chat(std::string_view model, std::string_view text, std::string_view more) {
    return R"({"model": )" + quoted(model) + R"(, "messages": [{"role": "user", "content": )" + quoted(text) +
           "}]" + std::string(more) + "}";
}

sotto_backend scripted() {
    auto backend = SOTTO_INIT(sotto_backend);
    sotto_str why{};
    REQUIRE(sotto_module_v1(nullptr, &backend, &why) == SOTTO_OK);
    return backend;
}

sotto_engine_desc plain_desc() {
    auto desc = SOTTO_INIT(sotto_engine_desc);
    desc.mode = SOTTO_MODE_PRIORITIZE_COMPUTE;
    return desc;
}

namespace {

sotto::EngineOptions with(sotto::Clock& clock, float target_tps) {
    sotto::EngineOptions options;
    options.clock = &clock;
    options.target_tps = target_tps;
    return options;
}

} // namespace

Game::Game(const sotto_engine_desc& desc, const sotto_backend& backend)
    : backend_(sotto::view_of(backend.name)) {
    REQUIRE_MESSAGE(sotto_engine_create(&desc, &engine_) == SOTTO_OK, last_error());
    REQUIRE_MESSAGE(sotto_engine_add_backend(engine_, &backend) == SOTTO_OK, last_error());
}

Game::Game(sotto::EngineOptions options, const sotto_backend& backend)
    : backend_(sotto::view_of(backend.name)) {
    options.mode = SOTTO_MODE_PRIORITIZE_COMPUTE;
    engine_ = sotto::api::open_handle(std::make_unique<sotto::Engine>(std::move(options)));
    REQUIRE_MESSAGE(sotto_engine_add_backend(engine_, &backend) == SOTTO_OK, last_error());
}

Game::Game(sotto::Clock& clock, float target_tps) : Game(with(clock, target_tps)) {}

void Game::end() {
    sotto_engine_destroy(engine_);
    engine_ = nullptr;
}

sotto_request Game::load(std::string_view id, std::string_view script, sotto_request_flags flags) {
    auto desc = SOTTO_INIT(sotto_model_desc);
    desc.id = str(id);
    desc.backend = backend();
    desc.options = str(script);
    desc.flags = flags;
    sotto_request request = 0;
    REQUIRE_MESSAGE(sotto_engine_load_model(engine_, &desc, &request) == SOTTO_OK, last_error());
    return request;
}

void Game::have(std::string_view id, std::string_view script) {
    const auto& ended = done(finish(load(id, script)));
    REQUIRE_MESSAGE(ended.status == SOTTO_OK, ended.text);
}

sotto_request Game::unload(std::string_view id) {
    sotto_request request = 0;
    REQUIRE_MESSAGE(sotto_engine_unload_model(engine_, str(id), 0, &request) == SOTTO_OK, last_error());
    return request;
}

sotto_request Game::ask(std::string_view model, std::string_view text, const Ask& how) {
    return submit(chat(model, text, how.more), how);
}

sotto_request Game::submit(std::string_view body, const Ask& how, sotto_op op) {
    auto desc = SOTTO_INIT(sotto_request_desc);
    desc.op = op;
    desc.body = str(body);
    desc.user = how.user;
    desc.flags = how.flags;
    desc.target_tps = how.tps;
    desc.priority = how.priority;
    desc.deadline_ns = how.deadline_ns;
    sotto_request request = 0;
    REQUIRE_MESSAGE(sotto_engine_submit(engine_, &desc, &request) == SOTTO_OK, last_error());
    REQUIRE(request != 0);
    return request;
}

std::size_t Game::drain() {
    std::size_t taken = 0;
    auto event = SOTTO_INIT(sotto_event);
    for (; sotto_engine_next_event(engine_, &event) == SOTTO_OK; ++taken) {
        all_.emplace_back(event);
        told_[event.request].emplace_back(event);
    }
    return taken;
}

bool Game::until(const std::function<bool()>& holds) {
    using namespace std::chrono;
    const auto end = steady_clock::now() + milliseconds(kPatience);
    for (drain(); !holds(); drain()) {
        if (steady_clock::now() > end) {
            return false;
        }
        sotto_engine_wait_for_events(engine_, 1);
    }
    return true;
}

const History& Game::finish(sotto_request request) {
    const auto& history = told_[request];
    REQUIRE_MESSAGE(
        until([&] { return !history.empty() && history.back().kind == SOTTO_EVENT_REQUEST_DONE; }),
        "it never ended"
    );
    return history;
}

void Game::until_told(sotto_request request, sotto_event_kind kind, std::size_t times) {
    REQUIRE_MESSAGE(until([&] { return count(told_[request], kind) >= times; }), "it was never told");
}

Told Game::wait_event(sotto_request request, int timeout_ms, sotto_status& status) {
    auto event = SOTTO_INIT(sotto_event);
    status = sotto_engine_wait_request_event(engine_, request, timeout_ms, &event);
    return status == SOTTO_OK ? Told(event) : Told();
}

History Game::finish_private(sotto_request request) {
    History history;
    while (history.empty() || history.back().kind != SOTTO_EVENT_REQUEST_DONE) {
        sotto_status status = SOTTO_OK;
        auto told = wait_event(request, kPatience, status);
        REQUIRE_MESSAGE(status == SOTTO_OK, last_error());
        history.push_back(std::move(told));
    }
    return history;
}

} // namespace test
