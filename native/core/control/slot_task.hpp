// SOTTO_OP_SLOTS: lists the slots of a model, or saves, restores or erases one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/codec/codec.hpp"
#include "core/control/stream_table.hpp"
#include "core/session/sessions.hpp"
#include "module/backend.hpp"
#include "platform/pages.hpp"

namespace sotto {

struct SlotTask {
    SlotAction action = SlotAction::list;
    std::uint32_t slot = 0;
    std::vector<SlotUse> uses;      // out, of list: the slots in order
    PageBuffer saved;               // out, of save: the state
    std::uint32_t saved_tokens = 0; // out: number of tokens in `saved`
    std::string response;           // out, of restore and erase
};

// Executes a task. `state`: the state to restore, or null. Compute thread only. Throws Error.
void run_slot_task(Model& model, SlotTask& task, const PageBuffer* state);

// Returns the response to the list of a model's slots, with the requests and sessions that have them. Control
// thread only.
std::string slot_list(
    const std::vector<SlotUse>& uses,
    const ModelEntry& entry,
    const StreamTable& streams,
    const Sessions& sessions
);

} // namespace sotto
