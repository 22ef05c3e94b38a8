// Output that the steps of a stream have generated.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/request/answer.hpp"
#include "platform/pages.hpp"

namespace sotto {

// Counts steps in which a stream makes no progress. If each such step evaluates something,
// or advances other streams, no other check detects that the stream would never end.
class Progress {
public:
    // Adds the result of a step. Returns how many steps in a row made no progress: no token,
    // no data, no finish, and `remaining` not below its minimum since the last token.
    std::uint32_t add(const sotto_step_item& work) noexcept {
        const bool moved = work.generated != 0 || work.data.size != 0 || work.finish != SOTTO_FINISH_NONE ||
                           work.remaining < fewest_left_;
        fewest_left_ = work.generated != 0 ? UINT32_MAX : std::min(fewest_left_, work.remaining);
        idle_steps_ = moved ? 0 : idle_steps_ + 1;
        return idle_steps_;
    }

private:
    std::uint32_t fewest_left_ = UINT32_MAX;
    std::uint32_t idle_steps_ = 0;
};

// Owned by the compute thread while a job of the stream runs, otherwise by the control thread.
struct StreamOutput {
    // `data`: the operation produces data instead of text, see has_data().
    StreamOutput(const ParsedRequest& parsed, bool data) : answer(parsed, data) {}

    Answer answer;
    Progress progress;
    PageBuffer saved_state;         // KV cache state, if the request saves it
    std::uint32_t saved_tokens = 0; // number of tokens in `saved_state`
};

} // namespace sotto
