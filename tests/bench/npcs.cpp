// Many characters on one set of weights: one JSON object on stdout.
//
//     sotto_bench_npcs what=batch model= words= streams= depth= tokens= rounds=
//     sotto_bench_npcs what=closed_loop model= words= streams= parallel= prompt= tokens= seconds= warmup=
//     sotto_bench_npcs what=prefix model= words= streams= shared= own= rounds=
//     sotto_bench_npcs what=foreground model= words= streams= parallel= times=
//     sotto_bench_npcs what=long_session model= words= context= sheet= own= tokens= turns= young=
//
// How fast `streams` write together, each `depth` tokens in; what streams are served that ask again and
// again; how soon characters begin whose prompts begin alike; how long one waits whom the player speaks with;
// what each turn of a session costs that outgrows its context.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <sotto/sotto.h>

#include "support/closed_loop.hpp"

using namespace bench;

namespace {

constexpr const char* kUsage =
    "sotto_bench_npcs what=batch|closed_loop|prefix|foreground|long_session model=... words=... "
    "and what the top of npcs.cpp says of each";
constexpr std::chrono::milliseconds kOften{1};
constexpr std::uint32_t kSpare = 16; // tokens that a context has too many

sotto_engine_desc for_compute() {
    auto desc = SOTTO_INIT(sotto_engine_desc);
    desc.mode = SOTTO_MODE_PRIORITIZE_COMPUTE;
    desc.trace_capacity = 65'536;
    return desc;
}

void load(Engine& engine, const Arguments& arguments, std::uint32_t parallel, std::uint32_t context) {
    engine.load(arguments.text("model"), format(R"({"parallel": %u, "context": %u})", parallel, context));
}

// Of steps in which all streams spoke, from the end of the first to the end of the last.
double together_tps(const std::vector<sotto_slice>& slices, std::uint32_t streams) {
    std::uint64_t tokens = 0;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    for (const auto& slice : slices) {
        if (slice.kind != SOTTO_SLICE_DECODE || slice.generated_tokens != streams) {
            continue;
        }
        if (first == 0) {
            first = slice.end_ns;
            continue;
        }
        tokens += slice.generated_tokens;
        last = slice.end_ns;
    }
    if (tokens == 0) {
        die(format("there was no step in which all %u streams spoke", streams));
    }
    return static_cast<double>(tokens) * 1e9 / static_cast<double>(last - first);
}

// All are told the same, and it is remembered, so that all begin to speak in the same step.
void batch(const Arguments& arguments) {
    const auto streams = arguments.count("streams");
    const auto depth = arguments.count("depth");
    const auto tokens = arguments.count("tokens");
    Engine engine(for_compute());
    load(engine, arguments, streams, depth + tokens);
    const Words words(arguments.text("words"));
    const auto before = engine.tokens_before_prompts(words, true);
    std::vector<double> tps;
    for (std::uint32_t round = 0; round < arguments.count("rounds", 1); ++round) {
        std::vector<Ask> asks;
        for (std::uint32_t i = 0; i < streams; ++i) {
            asks.push_back({.prompt = words.sentence(depth - before, kind_of(0, round)), .tokens = 1});
            engine.ask(asks.back());
        }
        engine.slices();
        std::vector<sotto_request> requests;
        for (auto& ask : asks) {
            ask.tokens = tokens;
            requests.push_back(engine.submit(ask));
        }
        for (const auto request : requests) {
            const auto told = engine.wait(request);
            const auto cached = number_in(told.json, "cache_n");
            if (cached + 1 < depth) {
                die(format("of %u tokens %.0f were remembered", depth, cached));
            }
        }
        tps.push_back(together_tps(engine.slices(), streams));
    }
    std::printf("{\"tps\": %s}\n", array(tps, 2).c_str());
}

void closed_loop(const Arguments& arguments) {
    const ClosedLoop::Wanted wanted = {
        arguments.count("streams"), arguments.count("prompt"), arguments.count("tokens")
    };
    Engine engine(for_compute());
    load(engine, arguments, arguments.count("parallel"), wanted.prompt + wanted.tokens + kSpare);
    const Words words(arguments.text("words"));
    ClosedLoop loop(engine, words, wanted);
    loop.start();
    loop.drain_for(arguments.number("warmup"));
    const auto began = Clock::now();
    const auto before = loop.tokens_each();
    const auto answers = loop.answers();
    loop.drain_for(arguments.number("seconds"));
    auto served = loop.tokens_each();
    const auto seconds = milliseconds(began, Clock::now()) / 1000;
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < served.size(); ++i) {
        served[i] -= before[i];
        all += served[i];
    }
    std::printf(
        "{\"tps\": %.2f, \"answers\": %llu, \"tokens_each\": %s}\n",
        static_cast<double>(all) / seconds,
        static_cast<unsigned long long>(loop.answers() - answers),
        array(served).c_str()
    );
}

// Characters who know the same of their world, and each something of its own.
class Cast {
public:
    Cast(const Arguments& arguments, Engine& engine, const Words& words)
        : engine_(engine), words_(words), streams_(arguments.count("streams")),
          shared_(arguments.count("shared")), own_(arguments.count("own")) {}

    // One after another; each one's time to its first token, in milliseconds.
    std::vector<double> in_turn(std::uint32_t world) {
        std::vector<double> first;
        for (std::uint32_t i = 0; i < streams_; ++i) {
            const auto submitted = Clock::now();
            first.push_back(milliseconds(submitted, engine_.wait(submit(world, i, 0)).first));
        }
        return first;
    }

    // All at once, in one world or each in its own.
    std::vector<double> at_once(const std::function<std::uint32_t(std::uint32_t)>& world_of) {
        const auto submitted = Clock::now();
        std::vector<double> first(streams_, 0);
        for (std::uint32_t i = 0; i < streams_; ++i) {
            submit(world_of(i), i, i, 0);
        }
        auto event = SOTTO_INIT(sotto_event);
        for (std::uint32_t done = 0; done < streams_; std::this_thread::sleep_for(kOften)) {
            while (sotto_engine_next_event(engine_.get(), &event) == SOTTO_OK) {
                auto& at = first[event.user];
                if (event.kind == SOTTO_EVENT_TEXT && at == 0) {
                    at = milliseconds(submitted, Clock::now());
                }
                if (event.kind == SOTTO_EVENT_REQUEST_DONE) {
                    check_done(event);
                    ++done;
                }
            }
        }
        return first;
    }

private:
    static void check_done(const sotto_event& event) {
        if (event.status < 0) {
            die(std::string(event.error.data, event.error.size));
        }
    }

    sotto_request submit(
        std::uint32_t world,
        std::uint32_t character,
        std::uint64_t user,
        sotto_request_flags flags = SOTTO_REQUEST_PRIVATE
    ) {
        constexpr std::uint32_t kSpoken = 12; // of what is the character's own, what the player says to it
        const auto system =
            words_.sentence(shared_, world) + words_.sentence(own_ - kSpoken, kind_of(character, world));
        const auto body =
            format(R"({"model": "m", "temperature": 0, "ignore_eos": true, "max_tokens": %u, )", kAnswer) +
            R"("messages": [{"role": "system", "content": ")" + system +
            R"("}, {"role": "user", "content": ")" + words_.sentence(kSpoken, kind_of(character, world) + 1) +
            R"("}]})";
        auto desc = SOTTO_INIT(sotto_request_desc);
        desc.op = SOTTO_OP_CHAT;
        desc.flags = flags;
        desc.user = user;
        return engine_.submit(desc, body);
    }

    static constexpr std::uint32_t kAnswer = 8;

    Engine& engine_;
    const Words& words_;
    std::uint32_t streams_;
    std::uint32_t shared_;
    std::uint32_t own_;
};

void prefix(const Arguments& arguments) {
    constexpr std::uint32_t kTemplate = 64; // tokens that a template may add, and the answer
    const auto streams = arguments.count("streams");
    Engine engine(for_compute());
    load(engine, arguments, streams, arguments.count("shared") + arguments.count("own") + kTemplate);
    const Words words(arguments.text("words"));
    engine.tokens_before_prompts(words, true);
    Cast cast(arguments, engine, words);
    std::string rounds;
    std::uint32_t world = 1;
    for (std::uint32_t round = 0; round < arguments.count("rounds", 1); ++round) {
        const auto in_turn = cast.in_turn(world++);
        const auto shared = world++;
        const auto at_once = cast.at_once([&](std::uint32_t) { return shared; });
        const auto apart = cast.at_once([&](std::uint32_t) { return world++; });
        rounds += format(
            R"(%s{"in_turn_ms": %s, "at_once_ms": %s, "apart_ms": %s})",
            rounds.empty() ? "" : ", ",
            array(in_turn, 2).c_str(),
            array(at_once, 2).c_str(),
            array(apart, 2).c_str()
        );
    }
    std::printf("{\"rounds\": [%s]}\n", rounds.c_str());
}

// Prompts of the many are short, and the one's is long, so that its slices are known.
constexpr std::uint32_t kTheirPrompt = 8;
constexpr std::uint32_t kTheirAnswer = 200;
constexpr std::uint32_t kForegroundPrompt = 64;

// How many steps began from then on until one that worked through the long prompt; -1: none did.
int steps_before(const std::vector<sotto_slice>& slices, std::uint64_t from_ns) {
    int steps = 0;
    for (const auto& slice : slices) {
        if (slice.begin_ns < from_ns || !is_step(slice)) {
            continue;
        }
        if (slice.prompt_tokens > 2 * kTheirPrompt) {
            return steps;
        }
        ++steps;
    }
    return -1;
}

void foreground(const Arguments& arguments) {
    Engine engine(for_compute());
    load(engine, arguments, arguments.count("parallel"), kTheirPrompt + kTheirAnswer + kSpare);
    const Words words(arguments.text("words"));
    ClosedLoop loop(engine, words, {arguments.count("streams"), kTheirPrompt, kTheirAnswer});
    loop.start();
    loop.drain_for(arguments.number("warmup", 2));
    std::vector<double> steps;
    std::vector<double> first_ms;
    auto event = SOTTO_INIT(sotto_event);
    for (std::uint32_t i = 0; i < arguments.count("times"); ++i) {
        engine.slices();
        const auto submitted = Clock::now();
        const auto request = engine.submit(
            {.prompt = words.sentence(kForegroundPrompt, kind_of(0, 100'000 + i)),
             .tokens = 8,
             .remember = false,
             .priority = SOTTO_PRIORITY_FOREGROUND}
        );
        double first = 0;
        for (bool done = false; !done; std::this_thread::sleep_for(kOften)) {
            loop.drain();
            while (sotto_engine_wait_request_event(engine.get(), request, 0, &event) == SOTTO_OK) {
                if (event.kind == SOTTO_EVENT_TEXT && first == 0) {
                    first = milliseconds(submitted, Clock::now());
                }
                done = done || event.kind == SOTTO_EVENT_REQUEST_DONE;
            }
        }
        first_ms.push_back(first);
        steps.push_back(steps_before(engine.slices(), nanoseconds(submitted)));
        loop.drain_for(0.2);
    }
    std::printf("{\"steps\": %s, \"first_ms\": %s}\n", array(steps, 0).c_str(), array(first_ms, 2).c_str());
}

// One session on an engine of its own, which holds one context.
class Talk {
public:
    struct Turn {
        double worked = 0;   // prompt tokens that were computed
        double cached = 0;   // prompt tokens that were in the KV cache
        double first_ms = 0; // from submission to the first token
    };

    explicit Talk(const Arguments& arguments)
        : arguments_(arguments), words_(arguments.text("words")), engine_(for_compute()) {
        load(engine_, arguments, 1, arguments.count("context"));
    }

    // Opens session number `n`; the one before it is closed.
    void open(std::uint32_t n) {
        auto desc = SOTTO_INIT(sotto_request_desc);
        desc.flags = SOTTO_REQUEST_PRIVATE;
        if (n > 0) {
            desc.op = SOTTO_OP_CLOSE_SESSION;
            engine_.wait(engine_.submit(desc, format(R"({"session": "%u"})", n - 1)));
        }
        desc.op = SOTTO_OP_OPEN_SESSION;
        engine_.wait(engine_.submit(
            desc,
            format(R"({"session": "%u", "model": "m", "messages": [{"role": "system", "content": ")", n) +
                words_.sentence(arguments_.count("sheet"), n) + R"("}]})"
        ));
        session_ = n;
        turns_ = 0;
    }

    Turn next() {
        auto desc = SOTTO_INIT(sotto_request_desc);
        desc.flags = SOTTO_REQUEST_PRIVATE;
        desc.op = SOTTO_OP_CHAT;
        const auto said = words_.sentence(arguments_.count("own"), kind_of(1 + session_, turns_++));
        const auto body = format(
                              R"({"session": "%u", "temperature": 0, "ignore_eos": true, "max_tokens": %u, )",
                              session_,
                              arguments_.count("tokens")
                          ) +
                          R"("messages": [{"role": "user", "content": ")" + said + R"("}]})";
        const auto submitted = Clock::now();
        const auto told = engine_.wait(engine_.submit(desc, body));
        return {
            number_in(told.json, "prompt_n"),
            number_in(told.json, "cache_n"),
            milliseconds(submitted, told.first)
        };
    }

private:
    const Arguments& arguments_;
    Words words_;
    Engine engine_;
    std::uint32_t session_ = 0;
    std::uint32_t turns_ = 0;
};

// A session that outgrows its context, and beside it others of `young` turns each: they take turns, so that a
// machine that is slow for a while is slow for both.
void long_session(const Arguments& arguments) {
    Talk old(arguments);
    Talk young(arguments);
    const auto young_turns = arguments.count("young");
    std::vector<double> worked;
    std::vector<double> cached;
    std::vector<double> first_ms;
    std::vector<double> young_first_ms;
    old.open(0);
    for (std::uint32_t turn = 0; turn < arguments.count("turns"); ++turn) {
        if (turn % young_turns == 0) {
            young.open(turn / young_turns);
        }
        const auto told = old.next();
        worked.push_back(told.worked);
        cached.push_back(told.cached);
        first_ms.push_back(told.first_ms);
        young_first_ms.push_back(young.next().first_ms);
    }
    std::printf(
        "{\"worked\": %s, \"cached\": %s, \"first_ms\": %s, \"young_first_ms\": %s}\n",
        array(worked, 0).c_str(),
        array(cached, 0).c_str(),
        array(first_ms, 2).c_str(),
        array(young_first_ms, 2).c_str()
    );
}

} // namespace

int main(int count, char** given) {
    const Arguments arguments(count, given, kUsage);
    const std::map<std::string, void (*)(const Arguments&)> all = {
        {"batch", batch},
        {"closed_loop", closed_loop},
        {"prefix", prefix},
        {"foreground", foreground},
        {"long_session", long_session}
    };
    const auto found = all.find(arguments.text("what"));
    if (found == all.end()) {
        die("usage: " + std::string(kUsage));
    }
    found->second(arguments);
}
