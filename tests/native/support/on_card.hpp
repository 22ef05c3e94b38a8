// A backend that pretends to use a GPU.
#pragma once

#include <atomic>
#include <string>

#include "support/handed.hpp"
#include "support/tapped_backend.hpp"

namespace test {

inline constexpr const char* kEndless = R"({"tokens": ["a"], "loop": true, "prompt_tokens": 1})";

// A backend that reports to use CUDA, and checks that a context is current.
class OnCard {
public:
    // `on_vulkan`: reports Vulkan instead.
    explicit OnCard(const CudaDouble& cuda, bool on_vulkan = false) : cuda_(cuda) {
        backend.tap = [this](Point, const sotto_step*) {
            const bool current = cuda_.get("depth") == 1;
            ++(current ? inside : outside);
        };
        table = backend.table();
        table.name = str(on_vulkan ? "oncard_vulkan" : "oncard");
        table.uses = on_vulkan ? 0 : SOTTO_BACKEND_CUDA;
    }

    TappedBackend backend;
    sotto_backend table;
    std::atomic<int> inside{0};  // calls with a current context
    std::atomic<int> outside{0}; // calls without one

private:
    const CudaDouble& cuda_;
};

// An engine with such a backend, and a renderer to attach.
struct Stage {
    explicit Stage(bool on_vulkan = false) : card(cuda, on_vulkan), game(card.table), handed(on_vulkan) {}

    CudaDouble cuda;
    OnCard card;
    Game game;
    Handed handed;
};

// State of a model.
inline std::string state_of(const Game& game, std::size_t index = 0) {
    sotto_str json{};
    REQUIRE(sotto_engine_memory(game.engine(), &json) == SOTTO_OK);
    return Json::parse(text_of(json))["models"][index]["state"];
}

} // namespace test
