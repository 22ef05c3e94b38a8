// A game's frames with and without characters beside them: one JSON object on stdout.
//
//     sotto_bench_frames calibrate=<ms> threads=<of the game's work>
//     sotto_bench_frames threads= iterations= seconds= [warmup=] [model= words= mode= streams= prompt=
//     tokens= [gates=1] [account=1] [trace=<slices that are shown on stderr afterwards>]
//     [picture=<diffusion model> picture_options=<JSON>]]
//
// The first says how many iterations make a frame's work of so many milliseconds. The second plays that game;
// with a model, characters speak meanwhile: closed loop, each prompt another one; with `picture` too, images
// are generated meanwhile, one after another.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sotto/sotto.h>

#include "support/account.hpp"
#include "support/closed_loop.hpp"
#include "support/game.hpp"

using namespace bench;

namespace {

constexpr const char* kUsage = "sotto_bench_frames calibrate=8 threads=1, or threads=1 iterations=1000000 "
                               "seconds=20, and model=... words=... mode=balance streams=4 prompt=512 "
                               "tokens=128 for characters beside it";

// Images that are generated one after another.
class Painter {
public:
    Painter(Engine& engine, const std::string& path, const std::string& options) : engine_(engine) {
        engine_.load(path, options, "painter");
        thread_ = std::jthread([this](const std::stop_token& stops) {
            while (!stops.stop_requested()) {
                paint(stops);
            }
        });
    }
    ~Painter() {
        thread_.request_stop();
        sotto_engine_cancel(engine_.get(), request_);
    }
    Painter(const Painter&) = delete;
    Painter& operator=(const Painter&) = delete;

    // Images completed, with the progress of the one that is generated.
    double images() const { return done_ + progress_; }

private:
    void paint(const std::stop_token& stops) {
        auto desc = SOTTO_INIT(sotto_request_desc);
        desc.op = SOTTO_OP_IMAGE_GENERATE;
        desc.flags = SOTTO_REQUEST_PRIVATE;
        request_ = engine_.submit(
            desc,
            format(R"({"model": "painter", "prompt": "a tavern", "steps": 20, "seed": %u})", done_.load())
        );
        for (bool live = true; live;) {
            constexpr int kPatience = 100;
            auto event = SOTTO_INIT(sotto_event);
            const auto status = sotto_engine_wait_request_event(engine_.get(), request_, kPatience, &event);
            if (stops.stop_requested()) {
                sotto_engine_cancel(engine_.get(), request_);
            }
            if (status == SOTTO_OK && event.kind == SOTTO_EVENT_PROGRESS) {
                progress_ = event.progress;
            }
            live = status != SOTTO_OK || event.kind != SOTTO_EVENT_REQUEST_DONE;
        }
        progress_ = 0;
        ++done_;
    }

    Engine& engine_;
    std::atomic<sotto_request> request_{0};
    std::atomic<float> progress_{0};
    std::atomic<std::uint32_t> done_{0};
    std::jthread thread_;
};

// A game tells the engine of its frames, and takes its events once a frame.
class Characters {
public:
    Characters(const Arguments& arguments, const Words& words, std::uint32_t busy_cores)
        : engine_(desc(arguments)), loop_(loaded(engine_, arguments), words, wanted(arguments)) {
        frame_.busy_cores = busy_cores;
        frame_.period_ns = static_cast<std::uint64_t>(kPeriod.count());
        if (const auto picture = arguments.text("picture", ""); !picture.empty()) {
            painter_ = std::make_unique<Painter>(engine_, picture, arguments.text("picture_options", "{}"));
        }
    }

    double images() const { return painter_ ? painter_->images() : 0; }

    Beside beside() {
        return {
            .begin =
                [this] {
                    check(sotto_engine_frame_begin(engine_.get(), &frame_));
                    loop_.drain();
                },
            .end = [this] { check(sotto_engine_frame_end(engine_.get(), nullptr)); }
        };
    }

    ClosedLoop& loop() { return loop_; }

    // All of them ask.
    void start() {
        before_ = counts().completion_tokens;
        began_ = moved_ = Clock::now();
        loop_.start();
        watcher_ = std::jthread([this](const std::stop_token& stops) {
            while (!stops.stop_requested()) { // more often than frames, which others make longer
                watch();
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
            }
        });
    }

    // The longest time in which no token of a prompt or an answer was computed, from when they were asked.
    double longest_standstill_ms() {
        watcher_ = {};
        return milliseconds(longest_);
    }
    // Until the first of them spoke; below 0: none did.
    double first_token_ms() const { return spoke_ ? milliseconds(first_) : -1; }

    // What was computed, a line a slice.
    void show_slices(std::uint32_t most) {
        std::vector<sotto_slice> slices(most);
        std::uint32_t count = 0;
        slices[0].struct_size = sizeof slices[0];
        check(sotto_engine_read_trace(engine_.get(), slices.data(), most, &count));
        slices.resize(count);
        for (const auto& slice : slices) {
            if (slice.kind == SOTTO_SLICE_FRAME) {
                continue;
            }
            const char* kinds[] = {"", "open", "prompt", "decode", "gate", "frame", "rest"};
            std::fprintf(
                stderr,
                "%-6s threads %u prompt %3u generated %u took %6.1f ms predicted %6.1f limit %6.1f share "
                "%.2f\n",
                kinds[slice.kind],
                slice.threads,
                slice.prompt_tokens,
                slice.generated_tokens,
                static_cast<double>(slice.end_ns - slice.begin_ns) / 1e6,
                static_cast<double>(slice.predicted_ms),
                static_cast<double>(slice.limit_ms),
                static_cast<double>(slice.share)
            );
        }
    }

    std::vector<sotto_slice> slices() { return engine_.slices(); }

private:
    static constexpr std::uint32_t kAccounted = 1 << 17; // slices of a minute, and more

    static double milliseconds(Clock::duration time) {
        return std::chrono::duration<double, std::milli>(time).count();
    }

    sotto_stats counts() {
        auto stats = SOTTO_INIT(sotto_stats);
        check(sotto_engine_stats(engine_.get(), &stats));
        return stats;
    }

    void watch() {
        const auto stats = counts();
        const auto now = Clock::now();
        longest_ = std::max(longest_, now - moved_);
        if (const auto done = stats.prompt_tokens + stats.completion_tokens; done != done_) {
            done_ = done;
            moved_ = now;
        }
        if (!spoke_ && stats.completion_tokens > before_) {
            spoke_ = true;
            first_ = now - began_;
        }
    }

    static sotto_engine_desc desc(const Arguments& arguments) {
        auto desc = SOTTO_INIT(sotto_engine_desc);
        desc.mode = mode_of(arguments.text("mode"));
        desc.trace_capacity = arguments.count("trace", arguments.count("account", 0) != 0 ? kAccounted : 0);
        desc.flags = arguments.count("gates", 0) != 0 ? sotto_engine_flags{SOTTO_ENGINE_GATES} : 0;
        return desc;
    }

    static ClosedLoop::Wanted wanted(const Arguments& arguments) {
        return {arguments.count("streams"), arguments.count("prompt"), arguments.count("tokens")};
    }

    static Engine& loaded(Engine& engine, const Arguments& arguments) {
        constexpr std::uint32_t kSpare = 16;
        const auto asked = wanted(arguments);
        engine.load(
            arguments.text("model"),
            format(R"({"parallel": %u, "context": %u})", asked.streams, asked.prompt + asked.tokens + kSpare)
        );
        return engine;
    }

    Engine engine_;
    ClosedLoop loop_;
    sotto_frame_begin_desc frame_ = SOTTO_INIT(sotto_frame_begin_desc);
    Clock::time_point began_;
    Clock::time_point moved_; // when some token was computed
    Clock::duration longest_{};
    Clock::duration first_{};
    std::uint64_t done_ = 0;
    std::uint64_t before_ = 0; // tokens that were spoken
    bool spoke_ = false;
    std::unique_ptr<Painter> painter_;
    std::jthread watcher_; // the last member: it uses the others
};

} // namespace

int main(int count, char** given) {
    const Arguments arguments(count, given, kUsage);
    const auto threads = arguments.count("threads");
    if (arguments.text("calibrate", "") != "") {
        const auto iterations = calibrated(threads, arguments.number("calibrate"));
        std::printf("{\"iterations\": %llu}\n", static_cast<unsigned long long>(iterations));
        return 0;
    }
    Work work(threads, static_cast<std::uint64_t>(arguments.number("iterations")));
    const auto seconds = arguments.number("seconds");
    const auto warmup = arguments.number("warmup", 1);
    if (arguments.text("model", "") == "") {
        play(work, warmup, {});
        std::printf("%s\n", told(play(work, seconds, {}), 0, 0).c_str());
        return 0;
    }
    const Words words(arguments.text("words"));
    Account account;
    Characters characters(arguments, words, threads);
    characters.start();
    play(work, warmup, characters.beside());
    const auto tokens = characters.loop().tokens();
    const auto answers = characters.loop().answers();
    const auto images = characters.images();
    account.begin();
    const auto played = play(work, seconds, characters.beside());
    account.end();
    if (const auto most = arguments.count("trace", 0); most > 0) {
        characters.show_slices(most);
    }
    const auto& loop = characters.loop();
    auto shown = told(played, loop.tokens() - tokens, loop.answers() - answers);
    shown.pop_back();
    if (arguments.count("account", 0) != 0) {
        const auto all =
            account.told(characters.slices(), nanoseconds(played.began), nanoseconds(played.ended));
        shown += ", \"account\": " + all;
    }
    std::printf(
        "%s, \"images\": %.3f, \"longest_standstill_ms\": %.1f, \"first_token_ms\": %.1f}\n",
        shown.c_str(),
        characters.images() - images,
        characters.longest_standstill_ms(),
        characters.first_token_ms()
    );
}
