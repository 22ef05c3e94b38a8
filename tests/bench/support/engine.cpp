#include "support/engine.hpp"

#include <cstdlib>

namespace bench {

void check(sotto_status status) {
    if (status < 0) {
        const auto why = sotto_last_error();
        die(std::string(why.data, why.size));
    }
}

sotto_mode mode_of(const std::string& name) {
    if (name == "balance") {
        return SOTTO_MODE_BALANCE;
    }
    if (name == "prioritize_compute") {
        return SOTTO_MODE_PRIORITIZE_COMPUTE;
    }
    if (name == "prioritize_graphics") {
        return SOTTO_MODE_PRIORITIZE_GRAPHICS;
    }
    die(name + " is no mode: balance, prioritize_compute or prioritize_graphics");
}

void Engine::close() {
    sotto_engine_destroy(engine_);
    engine_ = nullptr;
}

void Engine::load(const std::string& path, const std::string& options, const std::string& id) {
    wait(begin_load(path, options, id));
}

sotto_request Engine::begin_load(
    const std::string& path, const std::string& options, const std::string& id, sotto_request_flags flags
) {
    auto model = SOTTO_INIT(sotto_model_desc);
    model.id = {id.data(), id.size()};
    model.path = {path.data(), path.size()};
    model.options = {options.data(), options.size()};
    model.flags = flags;
    sotto_request loading = 0;
    check(sotto_engine_load_model(engine_, &model, &loading));
    return loading;
}

void Engine::unload(const std::string& id) {
    sotto_request unloading = 0;
    check(sotto_engine_unload_model(engine_, {id.data(), id.size()}, SOTTO_REQUEST_PRIVATE, &unloading));
    wait(unloading);
}

sotto_request Engine::submit(const Ask& ask) {
    const auto body = format(
        R"({"model": "%s", "temperature": 0, "ignore_eos": %s, "cache_prompt": %s, "max_tokens": %u, )",
        ask.model.c_str(),
        ask.ignore_eos ? "true" : "false",
        ask.remember ? "true" : "false",
        ask.tokens
    );
    auto desc = SOTTO_INIT(sotto_request_desc);
    desc.op = SOTTO_OP_COMPLETION;
    desc.user = ask.user;
    desc.flags = ask.flags;
    desc.target_tps = ask.target_tps;
    desc.priority = ask.priority;
    return submit(desc, body + R"("prompt": ")" + ask.prompt + R"("})");
}

sotto_request Engine::submit(sotto_request_desc desc, const std::string& body) {
    desc.body = {body.data(), body.size()};
    sotto_request request = 0;
    check(sotto_engine_submit(engine_, &desc, &request));
    return request;
}

Told Engine::wait(sotto_request request, bool may_fail) {
    Told told;
    auto event = SOTTO_INIT(sotto_event);
    for (;;) {
        check(sotto_engine_wait_request_event(engine_, request, -1, &event));
        const auto now = Clock::now();
        if (event.kind == SOTTO_EVENT_TEXT && told.tokens_at_first == 0) {
            told.first = now;
            told.tokens_at_first = event.tokens;
        }
        if (event.kind != SOTTO_EVENT_REQUEST_DONE) {
            continue;
        }
        if (event.status < 0) {
            told.why.assign(event.error.data, event.error.size);
            if (!may_fail) {
                die(told.why);
            }
        }
        told.status = event.status;
        told.done = now;
        told.tokens = event.tokens;
        told.json.assign(event.json.data == nullptr ? "" : event.json.data, event.json.size);
        return told;
    }
}

Told Engine::ask(const Ask& ask) {
    const auto submitted = Clock::now();
    auto told = wait(submit(ask));
    told.submitted = submitted;
    return told;
}

std::uint32_t Engine::tokens_before_prompts(const Words& words, bool ignore_eos) {
    constexpr std::uint32_t kWords = 15;
    const auto told = ask({.prompt = words.sentence(kWords, 0), .tokens = 8, .ignore_eos = ignore_eos});
    const auto read = static_cast<std::uint32_t>(number_in(told.json, "prompt_tokens"));
    if (read < kWords || read > kWords + 1) {
        die(format("of %u words were made %u tokens", kWords, read));
    }
    return read - kWords;
}

std::vector<sotto_slice> Engine::slices() {
    constexpr std::uint32_t kAtOnce = 256;
    std::vector<sotto_slice> all;
    for (;;) {
        std::vector<sotto_slice> some(kAtOnce);
        some.front().struct_size = sizeof(sotto_slice);
        std::uint32_t count = 0;
        check(sotto_engine_read_trace(engine_, some.data(), kAtOnce, &count));
        all.insert(all.end(), some.begin(), some.begin() + count);
        if (count == 0) {
            return all;
        }
    }
}

double number_in(const std::string& json, const std::string& name) {
    const auto at = json.find('"' + name + "\":");
    if (at == std::string::npos) {
        die("the response has no " + name + ": " + json);
    }
    return std::strtod(json.c_str() + at + name.size() + 3, nullptr);
}

bool is_step(const sotto_slice& slice) {
    return slice.kind == SOTTO_SLICE_PROMPT || slice.kind == SOTTO_SLICE_DECODE;
}

double milliseconds(const sotto_slice& slice) {
    return static_cast<double>(slice.end_ns - slice.begin_ns) / 1e6;
}

} // namespace bench
