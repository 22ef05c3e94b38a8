// How fast a model reads and writes through the C ABI, one request at a time: one JSON object on stdout.
//
//     sotto_bench_decode <model> <threads> <prompt tokens> <tokens> <depths, as in 0,512> <words> <times>
//     [ignore_eos]
//
// What llama-bench calls pp<prompt>@d<depth> and tg<tokens>@d<depth>. Prompts are random sentences of
// <words>, a file of words each of which is a token; a depth is a prompt that the model remembers. A model
// that could end its answer has the end forbidden it, by what follows <times>: ignore_eos.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <sotto/sotto.h>

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double, std::milli>(to - from).count();
}

[[noreturn]] void die(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    std::exit(1);
}

void check(sotto_status status) {
    if (status < 0) {
        const auto why = sotto_last_error();
        die(std::string(why.data, why.size));
    }
}

// A number of the response, which is flat enough to be searched for its name.
double number(const std::string& json, const std::string& name) {
    const auto at = json.find('"' + name + "\":");
    if (at == std::string::npos) {
        die("the response has no " + name + ": " + json);
    }
    return std::strtod(json.c_str() + at + name.size() + 3, nullptr);
}

// What became of a request.
struct Told {
    Clock::time_point submitted;
    Clock::time_point first; // when some text was there
    Clock::time_point done;
    std::uint32_t tokens_at_first = 0;
    std::uint32_t tokens = 0;
    std::string json;
};

// What is asked of this program.
struct Wanted {
    const char* path;
    std::uint32_t threads;
    std::uint32_t prompt;
    std::uint32_t tokens;
    std::vector<std::uint32_t> depths;
    const char* words;
    std::uint32_t times;
    bool ignore_eos;
};

std::uint32_t context_of(const Wanted& wanted) {
    constexpr std::uint32_t kSpare = 16;
    const auto deepest = *std::max_element(wanted.depths.begin(), wanted.depths.end());
    return wanted.prompt + deepest + wanted.tokens + kSpare;
}

class Bench {
public:
    explicit Bench(const Wanted& wanted)
        : prompt_(wanted.prompt), tokens_(wanted.tokens), ignore_eos_(wanted.ignore_eos) {
        std::ifstream file(wanted.words);
        words_.assign(std::istream_iterator<std::string>(file), {});
        if (words_.empty()) {
            die(std::string(wanted.words) + " holds no words");
        }
        auto threads = SOTTO_INIT(sotto_threads);
        threads.compute_threads = wanted.threads;
        auto desc = SOTTO_INIT(sotto_engine_desc);
        desc.mode = SOTTO_MODE_PRIORITIZE_COMPUTE;
        desc.threads = &threads;
        check(sotto_engine_create(&desc, &engine_));
        const auto options = R"({"parallel": 1, "flash_attention": "on", "batch": )" +
                             std::to_string(prompt_) + R"(, "context": )" +
                             std::to_string(context_of(wanted)) + "}";
        auto model = SOTTO_INIT(sotto_model_desc);
        model.id = {"m", 1};
        model.path = {wanted.path, SOTTO_NUL};
        model.options = {options.data(), options.size()};
        model.flags = SOTTO_REQUEST_PRIVATE;
        sotto_request loading = 0;
        check(sotto_engine_load_model(engine_, &model, &loading));
        wait(loading);
    }
    ~Bench() { sotto_engine_destroy(engine_); }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    // Also finds out whether a prompt has a token of the model's at its beginning.
    void warm_up() {
        const auto all = number(ask(sentence(prompt_ - 1, kWarm), 8).json, "prompt_tokens");
        begin_ = static_cast<std::uint32_t>(all) - (prompt_ - 1);
        if (begin_ > 1) {
            die("of " + std::to_string(prompt_ - 1) + " words were made " + std::to_string(all) + " tokens");
        }
    }

    // Of `prompt_` tokens after `depth` that are remembered.
    void read(std::uint32_t depth) {
        const auto held = depth == 0 ? "" : sentence(depth - begin_, kHeld);
        if (depth != 0) {
            ask(held, 1);
        }
        const auto words = depth == 0 ? prompt_ - begin_ : prompt_;
        const auto told = ask(held + sentence(words, kRead), 1, depth != 0);
        const auto read = number(told.json, "prompt_n");
        const auto cached = number(told.json, "cache_n");
        if (cached != depth) {
            die("of " + std::to_string(depth) + " tokens " + std::to_string(cached) + " were remembered");
        }
        tell("read", depth, read, number(told.json, "prompt_ms"), milliseconds(told.submitted, told.done));
    }

    // Writes `tokens_` after `depth` tokens, each by a step of its own.
    void write(std::uint32_t depth) {
        const auto held = sentence(depth == 0 ? 1 : depth - begin_, kHeld); // an empty prompt is none
        ask(held, 1);
        const auto told = ask(held, tokens_ + 1);
        const auto timed = told.tokens - told.tokens_at_first;
        if (timed < tokens_ / 2) {
            die("the answer ended after " + std::to_string(told.tokens) + " tokens");
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
    // As many words; those of another `kind` begin otherwise.
    std::string sentence(std::uint32_t count, unsigned kind) const {
        std::mt19937 random(kind);
        std::string made;
        for (std::uint32_t i = 0; i < count; ++i) {
            made += ' ' + words_[random() % words_.size()];
        }
        return made;
    }

    Told ask(const std::string& prompt, std::uint32_t tokens, bool reuse = true) {
        const auto body = R"({"model": "m", "temperature": 0, "ignore_eos": )" +
                          std::string(ignore_eos_ ? "true" : "false") + R"(, "cache_prompt": )" +
                          std::string(reuse ? "true" : "false") + R"(, "max_tokens": )" +
                          std::to_string(tokens) + R"(, "prompt": ")" + prompt + R"("})";
        auto desc = SOTTO_INIT(sotto_request_desc);
        desc.op = SOTTO_OP_TEXT;
        desc.body = {body.data(), body.size()};
        desc.flags = SOTTO_REQUEST_PRIVATE;
        sotto_request request = 0;
        const auto submitted = Clock::now();
        check(sotto_engine_submit(engine_, &desc, &request));
        auto told = wait(request);
        told.submitted = submitted;
        return told;
    }

    Told wait(sotto_request request) {
        Told told;
        auto event = SOTTO_INIT(sotto_event);
        for (;;) {
            check(sotto_engine_wait_event(engine_, request, -1, &event));
            const auto now = Clock::now();
            if (event.kind == SOTTO_EVENT_TEXT && told.tokens_at_first == 0) {
                told.first = now;
                told.tokens_at_first = event.tokens;
            }
            if (event.kind == SOTTO_EVENT_DONE) {
                if (event.status < 0) {
                    die(std::string(event.text.data, event.text.size));
                }
                told.done = now;
                told.tokens = event.tokens;
                told.json.assign(event.json.data == nullptr ? "" : event.json.data, event.json.size);
                return told;
            }
        }
    }

    void tell(const char* what, std::uint32_t depth, double tokens, double ms, double wall_ms) {
        char row[200];
        std::snprintf(
            row,
            sizeof row,
            R"(%s{"what": "%s", "depth": %u, "tokens": %.0f, "ms": %.3f, "wall_ms": %.3f, "tps": %.2f})",
            rows.empty() ? "" : ", ",
            what,
            depth,
            tokens,
            ms,
            wall_ms,
            tokens / ms * 1000
        );
        rows += row;
    }

    enum Kind : unsigned { kWarm, kRead, kHeld };

    sotto_engine* engine_ = nullptr;
    std::vector<std::string> words_;
    std::uint32_t prompt_;
    std::uint32_t tokens_;
    bool ignore_eos_;
    std::uint32_t begin_ = 0; // tokens that the model puts before a prompt
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
    if (count < 8 || count > 9) {
        die("usage: sotto_bench_decode <model> <threads> <prompt tokens> <tokens> <depths, as in 0,512> "
            "<words> <times> [ignore_eos]");
    }
    const Wanted wanted = {
        .path = arguments[1],
        .threads = whole(arguments[2]),
        .prompt = whole(arguments[3]),
        .tokens = whole(arguments[4]),
        .depths = whole_numbers(arguments[5]),
        .words = arguments[6],
        .times = whole(arguments[7]),
        .ignore_eos = count == 9,
    };
    Bench bench(wanted);
    bench.warm_up();
    for (const auto depth : wanted.depths) {
        for (std::uint32_t time = 0; time < wanted.times; ++time) {
            bench.read(depth);
            bench.write(depth);
        }
    }
    std::printf("{\"rows\": [%s]}\n", bench.rows.c_str());
}
