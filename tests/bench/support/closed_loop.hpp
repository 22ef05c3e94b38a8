// Characters that never stop: whenever an answer is over, its stream asks for the next.
#pragma once

#include <cstdint>
#include <vector>

#include "support/engine.hpp"

namespace bench {

class ClosedLoop {
public:
    struct Wanted {
        std::uint32_t streams;
        std::uint32_t prompt; // tokens; each prompt is another one, and worked through whole
        std::uint32_t tokens; // of each answer
    };

    ClosedLoop(Engine& engine, const Words& words, const Wanted& wanted);

    void start();

    // Takes all events there are, as a game does each frame.
    void drain();

    // Drains now and then, for as long.
    void drain_for(double seconds);

    // Spoken so far, by all together and by each.
    std::uint64_t tokens() const;
    std::vector<std::uint64_t> tokens_each() const;

    // Answers that are over.
    std::uint64_t answers() const { return answers_; }

private:
    struct Stream {
        std::uint32_t asked = 0;
        std::uint64_t said = 0;   // in answers that are over
        std::uint64_t saying = 0; // in the one under way
    };

    void ask(std::uint32_t stream);

    Engine& engine_;
    const Words& words_;
    Wanted wanted_;
    std::uint32_t before_; // tokens that the model puts before a prompt
    std::vector<Stream> streams_;
    std::uint64_t answers_ = 0;
};

} // namespace bench
