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
    std::size_t read = 0; // of the script's deltas
    bool parked = false;
    std::string adapters; // as it says them; empty: none
    bool lost = false;    // its place was resized away while it was parked
    std::string logprobs;
    std::string deltas;
    std::string why;
};

struct Model {
    Script script;
    Shape shape;
    std::vector<Stream*> streams;
    std::uint32_t most = 0;    // places
    std::uint32_t resizes = 0; // that asked for some
    bool restored = false;     // a state, which the next stream that is unparked finds
    bool on_device = false;    // which may be lost
    std::string description = R"({"architecture": "scripted"})";
    std::string stops;
    std::string result;
    std::string fingerprint;
    std::string why;
};

// Whether the script says that the device is lost there.
inline bool loses(const Model& model, const char* where) {
    return model.on_device && model.script.flag(where, false);
}

} // namespace scripted
