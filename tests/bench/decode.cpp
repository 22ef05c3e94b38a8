// How fast a model reads and writes through the C ABI, one request at a time: one JSON object on stdout.
//
//     sotto_bench_decode <model> <threads> <prompt tokens> <tokens> <depths, as in 0,512> <words> <times>
//     [ignore_eos] [device=<name>]
//
// What llama-bench calls pp<prompt>@d<depth> and tg<tokens>@d<depth>. Prompts are random sentences of
// <words>, a file of words each of which is a token; a depth is a prompt that the model remembers. A model
// that could end its answer has the end forbidden it, by what follows <times>: ignore_eos.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <sotto/sotto.h>

#include "support/engine.hpp"

using namespace bench;

namespace {

// What is asked of this program.
struct Wanted {
    const char* path;
    std::uint32_t threads;
    std::uint32_t prompt;
    std::uint32_t tokens;
    std::vector<std::uint32_t> depths;
    const char* words;
    std::uint32_t times;
    bool ignore_eos = false;
    std::string device; // empty: the processor
};

std::uint32_t context_of(const Wanted& wanted) {
    constexpr std::uint32_t kSpare = 16;
    const auto deepest = *std::max_element(wanted.depths.begin(), wanted.depths.end());
    return wanted.prompt + deepest + wanted.tokens + kSpare;
}

sotto_engine_desc on(const std::string& device, const sotto_threads& threads) {
    auto desc = SOTTO_INIT(sotto_engine_desc);
    desc.mode = SOTTO_MODE_PRIORITIZE_COMPUTE;
    desc.device = {device.data(), device.size()};
    desc.threads = &threads;
    return desc;
}

sotto_threads threads_of(const Wanted& wanted) {
    auto threads = SOTTO_INIT(sotto_threads);
    threads.compute_threads = wanted.threads;
    return threads;
}

class Bench {
public:
    explicit Bench(const Wanted& wanted)
        : wanted_(wanted), words_(wanted.words), engine_(on(wanted.device, threads_of(wanted))) {
        engine_.load(
            wanted.path,
            format(
                R"({"parallel": 1, "flash_attention": "on", "batch": %u, "context": %u})",
                wanted.prompt,
                context_of(wanted)
            )
        );
        before_ = engine_.tokens_before_prompts(words_, wanted.ignore_eos);
        ask(words_.sentence(wanted.prompt - before_, kWarm), 8);
    }

    // Of as many tokens as a prompt has, after `depth` that are remembered.
    void read(std::uint32_t depth) {
        const auto held = depth == 0 ? "" : words_.sentence(depth - before_, kHeld);
        if (depth != 0) {
            ask(held, 1);
        }
        const auto words = depth == 0 ? wanted_.prompt - before_ : wanted_.prompt;
        const auto told = ask(held + words_.sentence(words, kRead), 1, depth != 0);
        const auto read = number_in(told.json, "prompt_n");
        const auto cached = number_in(told.json, "cache_n");
        if (cached != depth) {
            die(format("of %u tokens %.0f were remembered", depth, cached));
        }
        tell("read", depth, read, number_in(told.json, "prompt_ms"), milliseconds(told.submitted, told.done));
    }

    // Writes as many tokens as are wanted after `depth` tokens, each by a step of its own.
    void write(std::uint32_t depth) {
        const auto held = words_.sentence(depth == 0 ? 1 : depth - before_, kHeld); // an empty prompt is none
        ask(held, 1);
        const auto told = ask(held, wanted_.tokens + 1);
        const auto timed = told.tokens - told.tokens_at_first;
        if (timed < wanted_.tokens / 2) {
            die(format("the answer ended after %u tokens", told.tokens));
        }
        tell(
            "write",
            depth,
            timed,
            milliseconds(told.first, told.done),
            milliseconds(told.submitted, told.done)
        );
    }

    std::string rows;

private:
    Told ask(const std::string& prompt, std::uint32_t tokens, bool remember = true) {
        return engine_.ask(
            {.prompt = prompt, .tokens = tokens, .remember = remember, .ignore_eos = wanted_.ignore_eos}
        );
    }

    void tell(const char* what, std::uint32_t depth, double tokens, double ms, double wall_ms) {
        rows += rows.empty() ? "" : ", ";
        rows += format(
            R"({"what": "%s", "depth": %u, "tokens": %.0f, "ms": %.3f, "wall_ms": %.3f, "tps": %.2f})",
            what,
            depth,
            tokens,
            ms,
            wall_ms,
            tokens / ms * 1000
        );
    }

    enum Kind : std::uint32_t { kWarm = 1, kRead, kHeld };

    Wanted wanted_;
    Words words_;
    Engine engine_;
    std::uint32_t before_ = 0; // tokens that the model puts before a prompt
};

std::uint32_t whole(const char* text) {
    return static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

std::vector<std::uint32_t> whole_numbers(const char* text) {
    std::vector<std::uint32_t> numbers;
    while (*text != '\0') {
        char* end = nullptr;
        numbers.push_back(static_cast<std::uint32_t>(std::strtoul(text, &end, 10)));
        if (end == text) {
            die(std::string("no list of numbers: ") + text);
        }
        text = *end == ',' ? end + 1 : end;
    }
    return numbers;
}

} // namespace

int main(int count, char** arguments) {
    if (count < 8 || count > 10) {
        die("usage: sotto_bench_decode <model> <threads> <prompt tokens> <tokens> <depths, as in 0,512> "
            "<words> <times> [ignore_eos] [device=<name>]");
    }
    Wanted wanted = {
        .path = arguments[1],
        .threads = whole(arguments[2]),
        .prompt = whole(arguments[3]),
        .tokens = whole(arguments[4]),
        .depths = whole_numbers(arguments[5]),
        .words = arguments[6],
        .times = whole(arguments[7]),
        .ignore_eos = false,
        .device = {},
    };
    for (int at = 8; at < count; ++at) {
        const std::string word = arguments[at];
        if (word == "ignore_eos") {
            wanted.ignore_eos = true;
        } else if (word.rfind("device=", 0) == 0) {
            wanted.device = word.substr(7);
        } else {
            die("no option of this program: " + word);
        }
    }
    Bench bench(wanted);
    for (const auto depth : wanted.depths) {
        for (std::uint32_t time = 0; time < wanted.times; ++time) {
            bench.read(depth);
            bench.write(depth);
        }
    }
    std::printf("{\"rows\": [%s]}\n", bench.rows.c_str());
}
