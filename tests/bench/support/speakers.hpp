// Streams that speak, and a host that listens a thousand times a second.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/engine.hpp"

namespace bench {

class Speakers {
public:
    // Answers are as long as the context allows; a run ends before them.
    Speakers(
        Engine& engine, const Words& words, std::uint32_t streams, std::uint32_t prompt, std::uint32_t context
    );

    void start();

    // For as long; or until a private request is over.
    void listen(double seconds);
    void listen_until(sotto_request request);

    // Of each stream when tokens came, and how many there were by then: {"at_ns": [...], "tokens": [...]},
    // ...
    std::string told() const;

private:
    struct Stream {
        std::vector<std::uint64_t> at_ns;
        std::vector<std::uint64_t> tokens;
    };

    void hear();

    Engine& engine_;
    const Words& words_;
    std::uint32_t prompt_;
    std::uint32_t tokens_;
    std::vector<Stream> streams_;
    Clock::time_point next_; // when to listen again
};

} // namespace bench
