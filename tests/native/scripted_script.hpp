// The script of a scripted model: see scripted_backend.cpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <sotto/module.h>

namespace scripted {

constexpr const char* kLost = "the script loses the device";

using nlohmann::json;

inline sotto_status fail(sotto_status status, std::string why, sotto_str* out) {
    thread_local std::string kept;
    kept = std::move(why);
    *out = {kept.data(), kept.size()};
    return status;
}

struct Script {
    json values = json::object();

    double number(const char* key, double absent = 0) const { return values.value(key, absent); }
    std::uint32_t count(const char* key, std::uint32_t absent = 0) const { return values.value(key, absent); }
    bool flag(const char* key, bool absent) const { return values.value(key, absent); }
    std::string text(const char* key) const { return values.value(key, std::string()); }
    bool has(const char* key) const { return values.contains(key); }
};

// Reads the file at `path`, through the host's file functions if it has set them.
inline sotto_status read_file(const sotto_model_source& source, std::string& text, sotto_str* why) {
    const std::string path(source.path.data, source.path.size);
    if (source.files == nullptr) {
        std::ifstream file(std::filesystem::path(std::u8string(path.begin(), path.end())));
        text.assign(std::istreambuf_iterator<char>(file), {});
        return file ? SOTTO_OK : fail(SOTTO_ERROR_NOT_FOUND, "file '" + path + "' does not exist", why);
    }
    const auto& files = *source.files;
    void* file = nullptr;
    std::uint64_t size = 0;
    if (files.open(files.self, source.path, &file, &size) < 0) {
        return fail(SOTTO_ERROR_NOT_FOUND, "the host cannot open file '" + path + "'", why);
    }
    text.resize(size);
    const auto status = files.read(files.self, file, 0, text.data(), size);
    files.close(files.self, file);
    return status < 0 ? fail(SOTTO_ERROR_MODEL, "the host cannot read " + path, why) : SOTTO_OK;
}

inline sotto_status read_script(const sotto_model_source& source, Script& script, sotto_str* why) {
    std::string text(
        source.options.data != nullptr ? std::string(source.options.data, source.options.size) : ""
    );
    if (text.empty()) {
        if (const auto status = read_file(source, text, why); status < 0) {
            return status;
        }
    }
    script.values = json::parse(text, nullptr, false);
    const std::string path(source.path.data, source.path.size);
    return script.values.is_object() ? SOTTO_OK : fail(SOTTO_ERROR_MODEL, path + " is no script", why);
}

// Size of a model: the script's, less what the source shrinks.
struct Shape {
    std::uint32_t places = 0;
    std::uint32_t context = 0;
    bool small_kv = false;
};

inline bool gives(const Script& script, const char* what) {
    const auto all = script.values.value("gives", json::array());
    return std::any_of(all.begin(), all.end(), [&](const json& one) { return one == what; });
}

inline Shape shape_of(const Script& script, const sotto_model_source& source) {
    Shape shape{script.count("streams", 4), script.count("context"), false};
    if (source.streams != 0) {
        shape.places = std::min(shape.places, source.streams);
    }
    if (source.tokens != 0 && gives(script, "tokens")) {
        const auto most = std::max(source.tokens, script.count("min_stream_tokens"));
        shape.context = shape.context == 0 ? most : std::min(shape.context, most);
    }
    shape.small_kv = (source.flags & SOTTO_SOURCE_SMALL_KV) != 0 && gives(script, "kv");
    return shape;
}

inline std::uint64_t kv_of(const Script& script, const Shape& shape) {
    const auto bytes = [&](const char* key) { return script.values.value(key, std::uint64_t{0}); };
    auto kv = bytes("kv");
    if (script.has("kv_per_place") || script.has("kv_per_token")) {
        kv = shape.places * (bytes("kv_per_place") + bytes("kv_per_token") * shape.context);
    }
    return shape.small_kv ? kv / 2 : kv;
}

// Reports the memory, which depends on the number of slots.
inline void tell_memory(const Script& script, const Shape& shape, sotto_model_info* info) {
    info->streams = shape.places;
    info->weights = script.values.value("weights", std::uint64_t{0});
    info->kv = shape.places == 0 ? 0 : kv_of(script, shape);
    info->compute = shape.places == 0 ? 0 : script.values.value("compute", std::uint64_t{0});
}

inline sotto_model_shrinkable gives_of(const Script& script, const Shape& shape) {
    const auto give = [&](const char* key, bool open, sotto_model_shrinkable bit) {
        return open && gives(script, key) ? bit : 0u;
    };
    return give("places", true, SOTTO_SHRINKABLE_PLACES) |
           give("streams", shape.places > 1, SOTTO_SHRINKABLE_STREAMS) |
           give(
               "tokens",
               shape.context == 0 || shape.context > script.count("min_stream_tokens"),
               SOTTO_SHRINKABLE_TOKENS
           ) |
           give("kv", !shape.small_kv, SOTTO_SHRINKABLE_KV);
}

inline void describe(const Script& script, const Shape& shape, sotto_model_info* info) {
    const auto capability = [&](const char* key, sotto_capabilities bit) {
        return script.flag(key, true) ? bit : 0;
    };
    info->capabilities = capability("batchable", SOTTO_CAPABILITY_BATCHABLE) |
                         capability("abortable", SOTTO_CAPABILITY_ABORTABLE);
    info->capabilities |= script.flag("constrainable", false) ? SOTTO_CAPABILITY_CONSTRAINABLE : 0;
    info->capabilities |= script.flag("logprobs", false) ? SOTTO_CAPABILITY_LOGPROBS : 0;
    info->capabilities |= script.flag("token_ids", false) ? SOTTO_CAPABILITY_TOKENS : 0;
    info->capabilities |= script.flag("parkable", false) ? SOTTO_CAPABILITY_PARKABLE : 0;
    info->capabilities |= script.has("prepare_ms") ? SOTTO_CAPABILITY_PREPARABLE : 0;
    if (script.has("response")) {
        info->operations = SOTTO_OPERATION_CHAT | SOTTO_OPERATION_EMBED | SOTTO_OPERATION_TRANSCRIBE |
                           SOTTO_OPERATION_TRANSLATE | SOTTO_OPERATION_RERANK |
                           SOTTO_OPERATION_IMAGE_GENERATE | SOTTO_OPERATION_IMAGE_MATTE;
    }
    if (!script.has("response") && !script.flag("slots", false)) {
        info->operations = SOTTO_OPERATION_CHAT | SOTTO_OPERATION_COMPLETION | SOTTO_OPERATION_INFILL |
                           SOTTO_OPERATION_TOKENIZE | SOTTO_OPERATION_DETOKENIZE |
                           SOTTO_OPERATION_APPLY_TEMPLATE | SOTTO_OPERATION_SAVE_STATE |
                           SOTTO_OPERATION_RESTORE_STATE;
    }
    info->context = shape.context;
    info->step_tokens = script.count("step_tokens");
    info->shrinkable = gives_of(script, shape);
    info->min_stream_tokens = script.count("min_stream_tokens");
    tell_memory(script, shape, info);
}

// Sleeps, polling the gate every millisecond if the script supports aborting. Returns false if aborted.
inline bool pause(const Script& script, double ms, const sotto_step* step) {
    using namespace std::chrono;
    const auto end = steady_clock::now() + duration_cast<nanoseconds>(duration<double, std::milli>(ms));
    const bool asks = step != nullptr && script.flag("abortable", true) && script.flag("gates", true);
    for (auto now = steady_clock::now(); now < end; now = steady_clock::now()) {
        if (asks && step->gate(step->context) != 0) {
            return false;
        }
        std::this_thread::sleep_for(std::min<nanoseconds>(end - now, asks ? 1ms : 3600s));
    }
    return true;
}

// Uses CPU time: performs additions that the compiler cannot remove.
inline void compute(std::uint32_t additions) {
    volatile std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < additions; ++i) {
        sum = sum + i;
    }
}

// Returns the text of the last message, or of the prompt; the numbers of a prompt of tokens are its words.
inline std::string last_text(const json& body) {
    const auto& content = body.contains("prompt") ? body["prompt"] : body["messages"].back()["content"];
    if (!content.is_array()) {
        return content.get<std::string>();
    }
    if (!content.empty() && !content.back().is_number()) {
        return content.back().value("text", "");
    }
    std::string text;
    for (const auto& token : content) {
        text += (text.empty() ? "" : " ") + token.dump();
    }
    return text;
}

inline std::vector<std::string> words(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> found;
    for (std::string word; in >> word;) {
        found.push_back(found.empty() ? word : " " + word);
    }
    return found;
}

inline std::string from_hex(const std::string& digits) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
        bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
    }
    return bytes;
}

} // namespace scripted
