// Engines of one process that work concurrently, each on its own backend or all on one of the host, give the
// answers of a single engine. SOTTO_TEST_ENGINES and SOTTO_TEST_CHATS set their numbers.
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "support/game.hpp"

using namespace test;

namespace {

constexpr int kModels = 8;

int setting(const char* variable, int otherwise) {
    const char* value = std::getenv(variable);
    return value != nullptr ? std::atoi(value) : otherwise;
}

std::string id_of(int model) {
    return "npc" + std::to_string(model);
}

std::string asked_of(int model, int chat) {
    return "visitor " + std::to_string(chat) + " speaks to number " + std::to_string(model);
}

// Returns the number of wrong answers. The script repeats each message word by word; all models answer
// concurrently.
int differences(Game& game, int chats) {
    int differ = 0;
    for (int model = 0; model < kModels; ++model) {
        game.have(id_of(model), "{}");
    }
    for (int chat = 0; chat < chats; ++chat) {
        std::vector<sotto_request> requests;
        for (int model = 0; model < kModels; ++model) {
            requests.push_back(game.ask(id_of(model), asked_of(model, chat)));
        }
        for (int model = 0; model < kModels; ++model) {
            const auto& history = game.finish(requests[static_cast<std::size_t>(model)]);
            differ += said(history) == asked_of(model, chat) ? 0 : 1;
        }
    }
    return differ;
}

// Runs each game on a thread of its own.
std::vector<int> speak_together(const std::vector<std::unique_ptr<Game>>& games) {
    const int chats = setting("SOTTO_TEST_CHATS", 20);
    std::vector<int> differ(games.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < games.size(); ++i) {
        threads.emplace_back([&, i] { differ[i] = differences(*games[i], chats); });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    return differ;
}

std::size_t engines() {
    return static_cast<std::size_t>(setting("SOTTO_TEST_ENGINES", 8));
}

} // namespace

TEST_CASE("engines that share a host's backend each produce their own answers") {
    const auto backend = scripted();
    std::vector<std::unique_ptr<Game>> games;
    for (std::size_t i = 0; i < engines(); ++i) {
        games.push_back(std::make_unique<Game>(backend));
    }
    CHECK(speak_together(games) == std::vector<int>(games.size(), 0));
}

TEST_CASE("request ids are unique across engines, and unknown to other engines") {
    Game first;
    Game second;
    first.have("npc", R"({"tokens": ["a"], "loop": true})");
    second.have("npc", R"({"tokens": ["a"], "loop": true})");
    const auto one = first.ask("npc", "hi");
    const auto other = second.ask("npc", "hi");
    CHECK(one != other);
    CHECK(sotto_engine_cancel(first.engine(), other) == SOTTO_ERROR_NOT_FOUND);
    CHECK(sotto_engine_cancel(second.engine(), one) == SOTTO_ERROR_NOT_FOUND);
    CHECK(sotto_engine_cancel(first.engine(), one) == SOTTO_OK);
    CHECK(sotto_engine_cancel(second.engine(), other) == SOTTO_OK);
}
