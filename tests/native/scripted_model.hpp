// A scripted model and its streams: see scripted_backend.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "scripted_script.hpp"

namespace scripted {

struct Stream {
    std::vector<std::string> tokens;
    std::uint32_t remaining = 0;
    std::size_t said = 0;
    json script;          // its deltas for each token; null: its text is the answer
    std::size_t read = 0; // of `script`
    bool parked = false;
    std::int32_t slot = -1;   // number of its slot, if the script numbers slots
    std::uint32_t prompt = 0; // number of tokens of its prompt
    std::string adapters;     // names and scales, as text; empty: none
    bool lost = false;        // its slot was removed while it was parked
    std::string logprobs;
    std::string deltas;
    bool has_data = false; // it executes a data operation
    std::string data;
    std::string data_info;
    std::string result;
    std::string why;
};

struct Model {
    Script script;
    Shape shape;
    std::vector<Stream*> streams;
    std::vector<std::uint32_t> held; // by slot: number of tokens that the slot holds
    std::uint32_t most = 0;          // maximum number of slots
    std::uint32_t resizes = 0;       // resizes that added slots
    bool restored = false;           // a state was restored, for the next unparked stream
    bool on_device = false;          // on a device that can be lost
    std::string description = R"({"architecture": "scripted"})";
    std::string stops;
    std::string settings;
    std::string result;
    std::string fingerprint;
    std::string why;
};

// Returns the deltas of a request; null if the script has none. A play's round is the number of answers
// after the last user message.
inline json deltas_of(const Script& script, const sotto_str& text) {
    if (!script.has("plays")) {
        return script.values.value("deltas", json());
    }
    const auto body = json::parse(std::string_view(text.data, text.size));
    std::string said;
    std::size_t round = 0;
    for (const auto& message : body["messages"]) {
        if (message["role"] == "user") {
            said = message["content"];
            round = 0;
        } else if (message["role"] == "assistant") {
            ++round;
        }
    }
    const auto rounds = script.values["plays"].value(said, json());
    return rounds.empty() ? json() : rounds[std::min(round, rounds.size() - 1)];
}

// Reads the deltas for the next token; at the end of the answer, the remaining ones.
inline void read_deltas(Stream& stream, bool last) {
    const auto& all = stream.script;
    auto told = json::array();
    for (const auto end = last ? all.size() : std::min(all.size() - 1, stream.said); stream.read < end;) {
        for (const auto& delta : all[stream.read++]) {
            told.push_back(delta);
        }
    }
    stream.deltas = told.dump();
}

// Returns the next part of the script's data with the next token; after the last part, the response.
inline void give_data(const Script& script, Stream& stream, sotto_step_item& work) {
    const auto parts = script.values.value("data", json::array());
    if (stream.said >= parts.size()) {
        stream.result = script.values["response"].dump();
        work.result = {stream.result.data(), stream.result.size()};
        work.finish = SOTTO_FINISH_STOP;
        return;
    }
    if (stream.said < stream.tokens.size()) {
        const auto& token = stream.tokens[stream.said];
        work.text = {token.data(), token.size()};
        work.generated = 1;
    }
    stream.data = from_hex(parts[stream.said]);
    const auto infos = script.values.value("data_info", json::array());
    const auto part = stream.said++;
    stream.data_info = (part < infos.size() ? infos[part] : json{{"part", part}}).dump();
    work.data = {stream.data.data(), stream.data.size()};
    work.data_info = {stream.data_info.data(), stream.data_info.size()};
}

// Returns true if the script loses the device at `where`.
inline bool loses(const Model& model, const char* where) {
    return model.on_device && model.script.flag(where, false);
}

} // namespace scripted
