#include "engine.hpp"

namespace test {
namespace {

sotto_str str(const std::string& text) {
    return {text.data(), text.size()};
}

} // namespace

Engine::Engine(const char* modules) {
    auto desc = SOTTO_INIT(sotto_engine_desc);
    desc.module_dir = {modules, SOTTO_NUL};
    desc.mode = SOTTO_MODE_PRIORITIZE_COMPUTE;
    REQUIRE_MESSAGE(sotto_engine_create(&desc, &engine_) == SOTTO_OK, text_of(sotto_last_error()));
}

sotto_gpu_sharing Engine::attach() const {
    sotto_gpu_sharing sharing = SOTTO_GPU_SHARING_NONE;
    const auto& shim = Shim::it();
    REQUIRE_MESSAGE(shim.attach(engine_, SOTTO_GPU_SHARING_NONE, &sharing) == SOTTO_OK, shim.error());
    return sharing;
}

std::string Engine::describe() const {
    sotto_str json{};
    REQUIRE(sotto_engine_describe(engine_, &json) == SOTTO_OK);
    return text_of(json);
}

bool Engine::is_attached() const {
    return !holds(describe(), R"("gpu":null)");
}

void Engine::load(const std::string& options, const std::string& path) const {
    auto model = SOTTO_INIT(sotto_model_desc);
    model.id = {"npc", SOTTO_NUL};
    model.path = str(path);
    model.options = str(options);
    model.flags = SOTTO_REQUEST_PRIVATE;
    sotto_request request = 0;
    REQUIRE(sotto_engine_load_model(engine_, &model, &request) == SOTTO_OK);
    const End end = end_of(request);
    REQUIRE_MESSAGE(end.status == SOTTO_OK, end.error);
}

sotto_request Engine::ask(const std::string& more) const {
    const std::string body =
        R"({"model": "npc", "messages": [{"role": "user", "content": "Who are you?"}])" + more + "}";
    auto desc = SOTTO_INIT(sotto_request_desc);
    desc.op = SOTTO_OP_CHAT;
    desc.body = str(body);
    desc.flags = SOTTO_REQUEST_PRIVATE;
    sotto_request request = 0;
    REQUIRE(sotto_engine_submit(engine_, &desc, &request) == SOTTO_OK);
    return request;
}

void Engine::wait_for_text(sotto_request request) const {
    auto event = SOTTO_INIT(sotto_event);
    do {
        REQUIRE(sotto_engine_wait_request_event(engine_, request, kPatienceMs, &event) == SOTTO_OK);
        REQUIRE_MESSAGE(event.kind != SOTTO_EVENT_REQUEST_DONE, text_of(event.error));
    } while (event.kind != SOTTO_EVENT_TEXT);
}

End Engine::end_of(sotto_request request) const {
    auto event = SOTTO_INIT(sotto_event);
    End end;
    while (event.kind != SOTTO_EVENT_REQUEST_DONE) {
        REQUIRE(sotto_engine_wait_request_event(engine_, request, kPatienceMs, &event) == SOTTO_OK);
        end.text += event.kind == SOTTO_EVENT_TEXT ? text_of(event.text) : "";
    }
    end.status = event.status;
    end.error = text_of(event.error);
    return end;
}

} // namespace test
