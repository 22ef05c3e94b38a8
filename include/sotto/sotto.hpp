/**
 * @file sotto/sotto.hpp
 * The API for C++17: handles that close themselves, a range over events, and a builder for requests.
 *
 * Header-only, on top of sotto.h; each handle's get() gives the C handle for calls that have no member here.
 * Functions throw sotto::Error instead of returning a status. Thread rules are those of the C functions.
 *
 *     sotto::Engine engine;
 *     engine.wait(engine.load_model("sotto/house", {}, SOTTO_REQUEST_PRIVATE));
 *     sotto::Session mara(engine, "mara", {"sotto/house", "Name: Mara\nRole: innkeeper"});
 *     mara.say("Is there a room?", sotto::Turn().max_tokens(64));
 *     for (;;) {
 *         const sotto::Frame frame(engine, 16'666'667);
 *         for (const sotto::Event& event : engine.events()) { ... event.text() ... }
 *     }
 */
#ifndef SOTTO_HPP
#define SOTTO_HPP

#include <cstdint>

#include "engine.hpp"
#include "session.hpp"
#include "token_session.hpp"

namespace sotto {

/** Reports a frame of the game: it begins with the object and ends with it. */
class Frame {
public:
    /** `period_ns`: target time from one frame to the next; 0: unknown. */
    explicit Frame(Engine& engine, std::uint64_t period_ns = 0, std::uint32_t busy_cores = 1)
        : engine_(engine.get()) {
        auto desc       = SOTTO_INIT(sotto_frame_begin_desc);
        desc.period_ns  = period_ns;
        desc.busy_cores = busy_cores;
        check(sotto_engine_frame_begin(engine_, &desc));
    }
    ~Frame() { sotto_engine_frame_end(engine_, nullptr); }
    Frame(const Frame&)            = delete;
    Frame& operator=(const Frame&) = delete;

private:
    sotto_engine* engine_;
};

} // namespace sotto

#endif
