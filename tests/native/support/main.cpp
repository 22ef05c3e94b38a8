// Runs the tests of an executable. With SOTTO_TEST_BESIDE in the environment, another engine of the process
// decodes meanwhile, which must not change any answer.
#include <cstdlib>
#include <memory>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "support/game.hpp"

namespace {

// An engine with an endless answer.
class Beside {
public:
    Beside() {
        const auto desc = test::plain_desc();
        auto backend = SOTTO_INIT(sotto_backend);
        sotto_str why{};
        if (sotto_module_v1(nullptr, &backend, &why) < 0 || sotto_engine_create(&desc, &engine_) < 0 ||
            sotto_engine_add_backend(engine_, &backend) < 0 || !begins()) {
            std::abort();
        }
    }
    ~Beside() { sotto_engine_destroy(engine_); }
    Beside(const Beside&) = delete;
    Beside& operator=(const Beside&) = delete;

private:
    bool begins() {
        auto model = SOTTO_INIT(sotto_model_desc);
        model.id = test::str("beside");
        model.backend = test::str("scripted");
        model.options = test::str(R"({"tokens": ["a", "b"], "loop": true, "token_ms": 1})");
        model.flags = SOTTO_REQUEST_PRIVATE;
        sotto_request request = 0;
        auto event = SOTTO_INIT(sotto_event);
        if (sotto_engine_load_model(engine_, &model, &request) < 0) {
            return false;
        }
        while (event.kind != SOTTO_EVENT_REQUEST_DONE) {
            if (sotto_engine_wait_request_event(engine_, request, -1, &event) != SOTTO_OK) {
                return false;
            }
        }
        auto ask = SOTTO_INIT(sotto_request_desc);
        ask.op = SOTTO_OP_CHAT;
        const auto body = test::chat("beside", "go on");
        ask.body = test::str(body);
        ask.flags = SOTTO_REQUEST_PRIVATE;
        return event.status == SOTTO_OK && sotto_engine_submit(engine_, &ask, &request) == SOTTO_OK;
    }

    sotto_engine* engine_ = nullptr;
};

} // namespace

int main(int count, char** arguments) {
    doctest::Context context(count, arguments);
    const bool wanted = std::getenv("SOTTO_TEST_BESIDE") != nullptr;
    const auto beside = wanted ? std::make_unique<Beside>() : nullptr;
    return context.run();
}
