// When words come that are paced, and what becomes of them beside other work: one JSON object on stdout.
//
//     sotto_bench_pacing what=speak model= words= context= streams= target= seconds= [backends=]
//         [at= event=retarget to= | event=hitch ms= | event=prompt prompt= | event=load load=]
//     sotto_bench_pacing what=cancel model= words= context= phase=decode|prefill|load times= [load=]
//     sotto_bench_pacing what=close model= words= context= load= times=
//     sotto_bench_pacing what=idle model= words= context= seconds=
//
// Streams that speak at `target` tokens a second, polled at 1 kHz, and something that happens `at` so many
// seconds; how soon a request ends that is cancelled; an engine that is closed under load; what an engine
// takes that has nothing to do.
#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sotto/sotto.h>
#include <sys/resource.h>

#include "support/closed_loop.hpp"
#include "support/speakers.hpp"

using namespace bench;

namespace {

constexpr const char* kUsage =
    "sotto_bench_pacing what=speak|cancel|close|idle model=... words=... and what the "
    "top of pacing.cpp says of each";
constexpr std::uint32_t kPrompt = 32; // tokens of who speaks

// Of a model of which `streams` speak, and one more stream has room.
std::string options(const Arguments& arguments, std::uint32_t streams) {
    return format(R"({"parallel": %u, "context": %u})", streams + 1, arguments.count("context"));
}

// What happens meanwhile, and the request that it is, if it is one.
sotto_request happen(const Arguments& arguments, Engine& engine, const Words& words) {
    const auto event = arguments.text("event");
    if (event == "retarget") {
        check(sotto_engine_set_target_tps(engine.get(), static_cast<float>(arguments.number("to"))));
    } else if (event == "hitch") {
        std::this_thread::sleep_for(std::chrono::milliseconds(arguments.count("ms")));
    } else if (event == "prompt") {
        const auto prompt = words.sentence(arguments.count("prompt") - 1, 1);
        return engine.submit({.prompt = prompt, .tokens = 8, .remember = false});
    } else if (event == "load") {
        return engine.begin_load(arguments.text("load"), "", "other");
    } else {
        die("event=" + event + " is none of retarget, hitch, prompt and load");
    }
    return 0;
}

void speak(const Arguments& arguments) {
    const auto backends = arguments.text("backends", "");
    const auto streams = arguments.count("streams");
    auto desc = SOTTO_INIT(sotto_engine_desc);
    desc.target_tps = static_cast<float>(arguments.number("target"));
    desc.trace_capacity = 65'536;
    desc.module_dir = {backends.data(), backends.size()};
    Engine engine(desc);
    const Words words(arguments.text("words"));
    engine.load(arguments.text("model"), arguments.text("options", options(arguments, streams)));
    Speakers speakers(engine, words, streams, kPrompt, arguments.count("context"));
    engine.slices();
    speakers.start();
    Clock::time_point began;
    Clock::time_point over;
    if (arguments.text("event", "") != "") {
        speakers.listen(arguments.number("at"));
        began = Clock::now();
        const auto request = happen(arguments, engine, words);
        over = Clock::now();
        if (request != 0) {
            speakers.listen_until(request);
            over = Clock::now();
        }
    }
    speakers.listen(arguments.number("seconds"));
    std::string slices;
    for (const auto& slice : engine.slices()) {
        if (is_step(slice)) {
            slices += format(
                "%s[%d, %.3f, %.3f]",
                slices.empty() ? "" : ", ",
                slice.kind,
                milliseconds(slice),
                slice.limit_ms
            );
        }
    }
    std::printf(
        "{\"began_ns\": %llu, \"over_ns\": %llu, \"streams\": [%s], \"slices\": [%s]}\n",
        static_cast<unsigned long long>(nanoseconds(began)),
        static_cast<unsigned long long>(nanoseconds(over)),
        speakers.told().c_str(),
        slices.c_str()
    );
}

// Three streams that never stop, so that there are steps to wait for, and one that is cancelled.
class Cancelling {
public:
    explicit Cancelling(const Arguments& arguments)
        : arguments_(arguments), words_(arguments.text("words")), engine_(desc()),
          loop_(loaded(), words_, {kOthers, kPrompt, kAnswer}) {}

    void run() {
        loop_.start();
        std::mt19937 random(1);
        const auto phase = arguments_.text("phase");
        for (std::uint32_t i = 0; i < arguments_.count("times"); ++i) {
            const auto request = begin(phase, i);
            loop_.drain_for((5 + random() % 100) / 1000.0); // in the midst of it, wherever that is
            const auto cancelled = Clock::now();
            const auto status = sotto_engine_cancel(engine_.get(), request);
            if (status == SOTTO_ERROR_NOT_FOUND) { // it ended while events were drained
                unload_if(phase == "load", i);
                continue;
            }
            check(status);
            const auto told = engine_.wait(request, true);
            if (told.status == SOTTO_ERROR_CANCELLED) {
                ms_.push_back(milliseconds(cancelled, told.done));
            } else if (told.status < 0) {
                die(told.why);
            } else { // it ended just before
                unload_if(phase == "load", i);
            }
        }
    }

    void tell() {
        double longest = 0;
        for (const auto& slice : engine_.slices()) {
            longest = std::max(longest, is_step(slice) ? milliseconds(slice) : 0);
        }
        std::printf("{\"ms\": %s, \"longest_slice_ms\": %.3f}\n", array(ms_, 3).c_str(), longest);
    }

private:
    void unload_if(bool loaded, std::uint32_t time) {
        if (loaded) {
            engine_.unload(id_of(time));
        }
    }

    static std::string id_of(std::uint32_t time) { return format("other %u", time); }

    static sotto_engine_desc desc() {
        auto desc = SOTTO_INIT(sotto_engine_desc);
        desc.trace_capacity = 65'536;
        return desc;
    }

    Engine& loaded() {
        engine_.load(arguments_.text("model"), options(arguments_, kOthers));
        return engine_;
    }

    sotto_request begin(const std::string& phase, std::uint32_t time) {
        if (phase == "load") {
            return engine_.begin_load(arguments_.text("load"), "", id_of(time));
        }
        const auto spare = arguments_.count("context") - kPrompt - kAnswer;
        const auto words = phase == "prefill" ? spare : kPrompt;
        const auto request = engine_.submit(
            {.prompt = words_.sentence(words, kind_of(kOthers, time)),
             .tokens = kAnswer,
             .remember = false,
             .ignore_eos = true}
        );
        auto event = SOTTO_INIT(sotto_event);
        while (phase == "decode" && event.kind != SOTTO_EVENT_TEXT) {
            loop_.drain();
            if (sotto_engine_wait_request_event(engine_.get(), request, 1, &event) < 0) {
                die("the answer ended before it began");
            }
        }
        return request;
    }

    static constexpr std::uint32_t kOthers = 3;
    static constexpr std::uint32_t kAnswer = 256;

    const Arguments& arguments_;
    Words words_;
    Engine engine_;
    ClosedLoop loop_;
    std::vector<double> ms_;
};

void cancel(const Arguments& arguments) {
    Cancelling cancelling(arguments);
    cancelling.run();
    cancelling.tell();
}

// Four streams speak, one is at its prompt, and a model is being loaded.
void close(const Arguments& arguments) {
    constexpr std::uint32_t kStreams = 4;
    const Words words(arguments.text("words"));
    std::vector<double> ms;
    for (std::uint32_t i = 0; i < arguments.count("times"); ++i) {
        Engine engine(SOTTO_INIT(sotto_engine_desc));
        engine.load(arguments.text("model"), options(arguments, kStreams));
        ClosedLoop loop(engine, words, {kStreams, kPrompt, 256});
        loop.start();
        loop.drain_for(0.3);
        const auto prompt = words.sentence(arguments.count("context") - kPrompt, kind_of(kStreams, i));
        engine.submit({.prompt = prompt, .tokens = 8, .remember = false});
        engine.begin_load(arguments.text("load"), "", "other");
        loop.drain_for(0.05 + 0.02 * i);
        const auto began = Clock::now();
        engine.close();
        ms.push_back(milliseconds(began, Clock::now()));
    }
    std::printf("{\"ms\": %s}\n", array(ms, 2).c_str());
}

// Seconds that this process has worked.
double worked() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void idle(const Arguments& arguments) {
    Engine engine(SOTTO_INIT(sotto_engine_desc));
    engine.load(arguments.text("model"), options(arguments, 4));
    engine.load(arguments.text("load"), "", "other");
    const Words words(arguments.text("words"));
    engine.ask({.prompt = words.sentence(kPrompt, 1), .tokens = 32});
    engine.ask({.prompt = words.sentence(kPrompt, 1), .tokens = 8, .model = "other"});
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const auto before = worked();
    const auto began = Clock::now();
    std::this_thread::sleep_until(after(began, arguments.number("seconds")));
    std::printf("{\"core_pct\": %.4f}\n", 1e5 * (worked() - before) / milliseconds(began, Clock::now()));
}

} // namespace

int main(int count, char** given) {
    const Arguments arguments(count, given, kUsage);
    const std::map<std::string, void (*)(const Arguments&)> all = {
        {"speak", speak}, {"cancel", cancel}, {"close", close}, {"idle", idle}
    };
    const auto found = all.find(arguments.text("what"));
    if (found == all.end()) {
        die("usage: " + std::string(kUsage));
    }
    found->second(arguments);
}
