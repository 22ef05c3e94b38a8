// fork(): a child refuses its parent's engines, and its own engines work, whatever the parent was doing.
// SOTTO_TEST_FORKS sets the number of children of each kind.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "speaker.hpp"

using namespace test;

namespace {

constexpr const char* kFile = "tiny.gguf";
constexpr sotto_mode kModes[] = {
    SOTTO_MODE_PRIORITIZE_COMPUTE, SOTTO_MODE_BALANCE, SOTTO_MODE_PRIORITIZE_GRAPHICS
};

int forks() {
    return setting("SOTTO_TEST_FORKS", 3);
}

struct Ended {
    int status = -1; // status from waitpid(); -1: it hung, and was killed
    double seconds = 0;
};

// Runs `body` in a child process, which exits with its return value.
Ended in_child(const std::function<int()>& body, double patience_s = 120) {
    using Clock = std::chrono::steady_clock;
    std::fflush(nullptr);
    const auto begin = Clock::now();
    const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
    const auto child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        _exit(body());
    }
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (seconds() > patience_s) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return {-1, seconds()};
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return {status, seconds()};
}

// An engine that decodes during this object's lifetime.
class Busy {
public:
    explicit Busy(Speaker& speaker) : speaker_(speaker), thread_([this] { work(); }) {
        while (said_.load() == 0) {
            std::this_thread::yield();
        }
    }
    ~Busy() {
        over_ = true;
        thread_.join();
    }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

    int said() const { return said_.load(); }

private:
    void work() {
        for (int i = 0; !over_.load(); ++i) {
            said_ += speaker_.say("npc", i % 3, 200).status == SOTTO_OK ? 1 : 0;
        }
    }

    Speaker& speaker_;
    std::atomic<bool> over_{false};
    std::atomic<int> said_{0};
    std::thread thread_; // last: uses the members above
};

// Creates and destroys engines that load a model during this object's lifetime.
class Loads {
public:
    Loads() : thread_([this] { work(); }) {}
    ~Loads() {
        over_ = true;
        thread_.join();
    }
    Loads(const Loads&) = delete;
    Loads& operator=(const Loads&) = delete;

    int loaded() const { return loaded_.load(); }

private:
    void work() {
        while (!over_.load()) {
            Speaker speaker({SOTTO_MODE_PRIORITIZE_COMPUTE, 0, 2});
            loaded_ += speaker.load("npc", kFile).status == SOTTO_OK ? 1 : 0;
        }
    }

    std::atomic<bool> over_{false};
    std::atomic<int> loaded_{0};
    std::thread thread_; // last: uses the members above
};

enum Wrong : int { kNothing = 0, kAccepted, kText, kCreate, kLoad, kSay, kOther };

// Checks that calls refuse a parent's engine, and that destroying it does nothing.
int refuses(sotto_engine* parents) {
    sotto_engine_destroy(parents);
    sotto_str json{};
    if (sotto_engine_describe(parents, &json) != SOTTO_ERROR_ARGUMENT) {
        return kAccepted;
    }
    return text_of(sotto_last_error()).find("fork()") == std::string::npos ? kText : kNothing;
}

// Checks that a child's own engine gives the parent's answer.
int says(sotto_mode mode, const std::string& expected) {
    Speaker own({mode, SOTTO_ENGINE_DETERMINISTIC, 2});
    if (own.created() != SOTTO_OK) {
        return kCreate;
    }
    if (own.load("npc", kFile).status != SOTTO_OK) {
        return kLoad;
    }
    const auto answer = own.say("npc", 1);
    if (answer.status != SOTTO_OK) {
        return kSay;
    }
    return answer.text == expected ? kNothing : kOther;
}

int refuses_and_says(sotto_engine* parents, sotto_mode mode, const std::string& expected) {
    const auto wrong = refuses(parents);
    return wrong != kNothing ? wrong : says(mode, expected);
}

} // namespace

TEST_CASE("a forked child's own engine answers as its parent's, while that is idle or decodes") {
    for (const auto mode : kModes) {
        Speaker parent({mode, SOTTO_ENGINE_DETERMINISTIC, 2});
        REQUIRE(parent.load("npc", kFile).status == SOTTO_OK);
        const auto expected = parent.say("npc", 1);
        REQUIRE(expected.status == SOTTO_OK);
        for (const bool busy : {false, true}) {
            CAPTURE(mode);
            CAPTURE(busy);
            std::unique_ptr<Busy> speaks;
            if (busy) {
                speaks = std::make_unique<Busy>(parent);
            }
            for (int i = 0; i < forks(); ++i) {
                const auto ended =
                    in_child([&] { return refuses_and_says(parent.engine(), mode, expected.text); });
                CHECK(ended.status == 0);
            }
        }
        CHECK(parent.say("npc", 1).text == expected.text);
    }
}

TEST_CASE("a forked child's own engine works after the parent's was destroyed, or had no model") {
    std::string expected;
    {
        Speaker parent({SOTTO_MODE_PRIORITIZE_COMPUTE, SOTTO_ENGINE_DETERMINISTIC, 2});
        CHECK(in_child([&] {
                  Speaker own({SOTTO_MODE_PRIORITIZE_COMPUTE, 0, 2});
                  return own.load("npc", kFile).status == SOTTO_OK ? 0 : 1;
              }).status == 0);
        REQUIRE(parent.load("npc", kFile).status == SOTTO_OK);
        expected = parent.say("npc", 1).text;
    }
    for (int i = 0; i < forks(); ++i) {
        CHECK(in_child([&] { return says(SOTTO_MODE_PRIORITIZE_COMPUTE, expected); }).status == 0);
    }
}

TEST_CASE("a forked child's own engine works while the parent creates, loads and destroys others") {
    std::string expected;
    {
        Speaker parent({SOTTO_MODE_PRIORITIZE_COMPUTE, SOTTO_ENGINE_DETERMINISTIC, 2});
        REQUIRE(parent.load("npc", kFile).status == SOTTO_OK);
        expected = parent.say("npc", 1).text;
    }
    const Loads loads;
    for (int i = 0; i < 6 * forks(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(7 * i % 40)); // at a different point each time
        CHECK(in_child([&] { return says(SOTTO_MODE_PRIORITIZE_COMPUTE, expected); }).status == 0);
    }
    CHECK(loads.loaded() > 0);
}

TEST_CASE("a grandchild refuses the engines of its parent and grandparent") {
    Speaker parent({SOTTO_MODE_PRIORITIZE_COMPUTE, SOTTO_ENGINE_DETERMINISTIC, 2});
    REQUIRE(parent.load("npc", kFile).status == SOTTO_OK);
    const auto expected = parent.say("npc", 1).text;
    const auto ended = in_child([&] {
        Speaker own({SOTTO_MODE_PRIORITIZE_COMPUTE, SOTTO_ENGINE_DETERMINISTIC, 2});
        if (own.load("npc", kFile).status != SOTTO_OK || own.say("npc", 1).text != expected) {
            return 1;
        }
        const auto grandchild = fork();
        if (grandchild == 0) {
            const auto first = refuses(parent.engine());
            const auto second = refuses_and_says(own.engine(), SOTTO_MODE_PRIORITIZE_COMPUTE, expected);
            _exit(first != 0 ? first : second);
        }
        int status = 0;
        waitpid(grandchild, &status, 0);
        return status == 0 && own.say("npc", 1).text == expected ? 0 : 2;
    });
    CHECK(ended.status == 0);
}

TEST_CASE("a forked child exits at once while its parent decodes") {
    Speaker parent({SOTTO_MODE_PRIORITIZE_COMPUTE, 0, 2});
    REQUIRE(parent.load("npc", kFile).status == SOTTO_OK);
    const Busy speaks(parent);
    for (int i = 0; i < forks(); ++i) {
        const auto ended = in_child([]() -> int { std::exit(0); });
        CHECK(ended.status == 0);
        CHECK(ended.seconds < 1.5); // a child must not wait 2 seconds for each call that computed
    }
}
