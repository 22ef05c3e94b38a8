// How soon a character begins to answer beside a game: one JSON object on stdout.
//
//     sotto_bench_first_answer threads= iterations= seconds= [warmup=] model= words= prompt= pause_ms=
//     [mode=] [compute_threads=]
//     sotto_bench_first_answer seconds= [warmup=] model= words= prompt= pause_ms= [mode=]
//
// The game plays; in the second form there is none. A thread of its own asks one question at a time, each of
// so many tokens that no one knows yet, and pauses after its first token. With `compute_threads`, every step
// has exactly so many threads; else the engine chooses.
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sotto/sotto.h>

#include "support/engine.hpp"
#include "support/game.hpp"

using namespace bench;

namespace {

constexpr const char* kUsage = "sotto_bench_first_answer threads=1 iterations=1000000 seconds=20 model=... "
                               "words=... prompt=128 pause_ms=300";

// The one who asks, until it is destroyed.
class Asker {
public:
    Asker(Engine& engine, const Words& words, std::uint32_t prompt, std::chrono::milliseconds pause)
        : engine_(engine), words_(words), prompt_(prompt), pause_(pause) {}

    void start() {
        thread_ = std::jthread([this](const std::stop_token& stops) {
            for (std::uint32_t question = 0; !stops.stop_requested(); ++question) {
                ask(question);
                std::this_thread::sleep_for(pause_);
            }
        });
    }

    // Milliseconds from each question to its first token, since the last call.
    std::vector<double> take() {
        const std::scoped_lock lock(mutex_);
        return std::exchange(waits_ms_, {});
    }

private:
    void ask(std::uint32_t question) {
        const auto told =
            engine_.ask({.prompt = words_.sentence(prompt_, kind_of(0, question)), .remember = false});
        const std::scoped_lock lock(mutex_);
        waits_ms_.push_back(milliseconds(told.submitted, told.first));
    }

    Engine& engine_;
    const Words& words_;
    std::uint32_t prompt_;
    std::chrono::milliseconds pause_;
    std::mutex mutex_;
    std::vector<double> waits_ms_;
    std::jthread thread_; // the last member: it uses the others
};

sotto_engine_desc desc_of(const Arguments& arguments, const sotto_threads& threads) {
    auto desc = SOTTO_INIT(sotto_engine_desc);
    desc.mode = mode_of(arguments.text("mode", "balance"));
    if (threads.compute_threads != 0) {
        desc.flags = SOTTO_ENGINE_DETERMINISTIC;
        desc.threads = &threads;
    }
    return desc;
}

// Plays, or only waits where there is no game.
Played pass(Work* work, double seconds, const Beside& beside) {
    if (work != nullptr) {
        return play(*work, seconds, beside);
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    return {};
}

} // namespace

int main(int count, char** given) {
    const Arguments arguments(count, given, kUsage);
    const auto game_threads = arguments.count("threads", 0);
    const auto prompt = arguments.count("prompt");
    auto threads = SOTTO_INIT(sotto_threads);
    threads.compute_threads = arguments.count("compute_threads", 0);
    Engine engine(desc_of(arguments, threads));
    constexpr std::uint32_t kSpare = 16;
    engine.load(arguments.text("model"), format(R"({"parallel": 1, "context": %u})", prompt + kSpare));

    auto frame = SOTTO_INIT(sotto_frame_begin_desc);
    frame.busy_cores = game_threads;
    frame.period_ns = static_cast<std::uint64_t>(kPeriod.count());
    const Beside beside{
        .begin = [&] { check(sotto_engine_frame_begin(engine.get(), &frame)); },
        .end = [&] { check(sotto_engine_frame_end(engine.get(), nullptr)); }
    };
    const Words words(arguments.text("words"));
    std::unique_ptr<Work> work;
    if (game_threads > 0) {
        work =
            std::make_unique<Work>(game_threads, static_cast<std::uint64_t>(arguments.number("iterations")));
    }
    Asker asker(engine, words, prompt, std::chrono::milliseconds(arguments.count("pause_ms")));
    asker.start();
    pass(work.get(), arguments.number("warmup", 3), beside);
    asker.take();
    const auto played = pass(work.get(), arguments.number("seconds"), beside);
    const auto waits = asker.take();
    auto shown = told(played, waits.size(), waits.size());
    shown.pop_back();
    std::printf("%s, \"first_token_ms\": %s}\n", shown.c_str(), array(waits, 2).c_str());
}
