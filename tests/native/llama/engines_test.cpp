// Engines are independent: several decode concurrently, each with its own models, and give the answers of a
// single engine.
//
// Environment: SOTTO_TEST_ENGINES, SOTTO_TEST_MODELS (per engine), SOTTO_TEST_CHATS (per model), and
// SOTTO_TEST_ROUNDS, during which one engine stays while others are created and destroyed.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "speaker.hpp"

using namespace test;

namespace {

constexpr int kQuestions = 5;
constexpr int kModes = 3;
constexpr std::size_t kFiles = 5;

// One file for each type of KV cache.
std::string file_of(int model) {
    constexpr const char* kAll[kFiles] = {
        "tiny.gguf", "tiny-q4.gguf", "tiny-window.gguf", "tiny-hybrid.gguf", "tiny-twin.gguf"
    };
    return kAll[static_cast<std::size_t>(model) % kFiles];
}

std::string id_of(int model) {
    return "npc" + std::to_string(model);
}

// Settings under which answers depend on the request only. Few engines have a second thread: threads of a
// graph spin while they wait for each other, and there are more threads than cores.
Speaker::Terms terms_of(int engine) {
    constexpr sotto_mode kAll[kModes] = {
        SOTTO_MODE_PRIORITIZE_COMPUTE, SOTTO_MODE_BALANCE, SOTTO_MODE_PRIORITIZE_GRAPHICS
    };
    return {kAll[engine % kModes], SOTTO_ENGINE_DETERMINISTIC, engine % 4 == 0 ? 2U : 1U};
}

// Distinct errors and their counts.
class Troubles {
public:
    void add(const std::string& what) {
        const std::lock_guard lock(mutex_);
        ++all_[what];
    }
    std::string told() const {
        std::string told;
        for (const auto& [what, times] : all_) {
            told += std::to_string(times) + " x " + what + "\n";
        }
        return told;
    }

private:
    std::mutex mutex_; // guards all_
    std::map<std::string, int> all_;
};

using Texts = std::map<std::pair<std::string, int>, std::string>; // keyed by file and question

void have_all(Speaker& speaker, int models, Troubles& troubles) {
    for (int model = 0; model < models; ++model) {
        const auto loaded = speaker.load(id_of(model), file_of(model));
        if (loaded.status != SOTTO_OK) {
            troubles.add("load: " + loaded.text);
        }
    }
}

Texts said_alone(int models, Troubles& troubles) {
    Speaker alone(terms_of(0));
    have_all(alone, models, troubles);
    Texts texts;
    for (int model = 0; model < std::min<int>(models, kFiles); ++model) {
        for (int question = 0; question < kQuestions; ++question) {
            const auto answer = alone.say(id_of(model), question);
            if (answer.status != SOTTO_OK || answer.text.empty()) {
                troubles.add("alone: " + answer.text);
            }
            texts[{file_of(model), question}] = answer.text;
        }
    }
    return texts;
}

// Runs one engine, whose models all answer concurrently.
void speak(Speaker& speaker, int models, int chats, const Texts& alone, Troubles& troubles) {
    std::vector<sotto_request> requests(static_cast<std::size_t>(models));
    for (int chat = 0; chat < chats; ++chat) {
        const int question = chat % kQuestions;
        for (int model = 0; model < models; ++model) {
            requests[static_cast<std::size_t>(model)] = speaker.ask(id_of(model), question);
        }
        for (int model = 0; model < models; ++model) {
            const auto answer = speaker.finish(requests[static_cast<std::size_t>(model)]);
            const auto& expected = alone.at({file_of(model), question});
            if (answer.status != SOTTO_OK) {
                troubles.add("status " + std::to_string(answer.status) + ": " + answer.text);
            } else if (answer.text != expected) {
                troubles.add(
                    file_of(model) + " says \"" + answer.text + "\" instead of \"" + expected + "\""
                );
            }
        }
    }
}

} // namespace

TEST_CASE("engines that decode concurrently give the same answers as one alone") {
    const int engines = setting("SOTTO_TEST_ENGINES", 8);
    const int models = setting("SOTTO_TEST_MODELS", 8);
    const int chats = setting("SOTTO_TEST_CHATS", 2);
    Troubles troubles;
    const auto alone = said_alone(models, troubles);
    std::vector<std::unique_ptr<Speaker>> speakers;
    for (int engine = 0; engine < engines; ++engine) {
        speakers.push_back(std::make_unique<Speaker>(terms_of(engine)));
        REQUIRE(speakers.back()->created() == SOTTO_OK);
    }
    std::vector<std::thread> threads;
    for (const auto& speaker : speakers) {
        threads.emplace_back([&] {
            have_all(*speaker, models, troubles);
            speak(*speaker, models, chats, alone, troubles);
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    CHECK(troubles.told() == "");
    MESSAGE(engines << " engines x " << models << " models x " << chats << " chats");
}

TEST_CASE("destroying an engine leaves the threads of other engines alone") {
    const int rounds = setting("SOTTO_TEST_ROUNDS", 2);
    Troubles troubles;
    const auto alone = said_alone(1, troubles);
    std::atomic<bool> over{false};
    std::thread comes_and_goes([&] {
        while (!over.load()) {
            Speaker speaker(terms_of(0));
            have_all(speaker, 1, troubles);
            speak(speaker, 1, 1, alone, troubles);
        }
    });
    Speaker stays(terms_of(0));
    for (int round = 0; round < rounds; ++round) {
        have_all(stays, 1, troubles);
        speak(stays, 1, kQuestions, alone, troubles);
        sotto_request request = 0;
        REQUIRE(
            sotto_engine_unload_model(stays.engine(), str(id_of(0)), SOTTO_REQUEST_PRIVATE, &request) ==
            SOTTO_OK
        );
        CHECK(stays.finish(request).status == SOTTO_OK);
    }
    over = true;
    comes_and_goes.join();
    CHECK(troubles.told() == "");
}
