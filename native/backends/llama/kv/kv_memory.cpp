// The KV cache of a llama_context: cuts, shifts, copies, saves and restores the cells of its slots.
#include "kv/kv_memory.hpp"

#include <algorithm>

namespace sotto::llama {

bool keeps_all(const llama_model* model) {
    return llama_model_n_swa(model) == 0 && !llama_model_is_recurrent(model) && !llama_model_is_hybrid(model);
}

KvMemory::KvMemory(const llama_model* model)
    : keeps_all_(sotto::llama::keeps_all(model)), window_(llama_model_n_swa(model)) {}

void KvMemory::attach(llama_context* context) {
    context_ = context;
    form_ = context != nullptr ? StateForm(context) : StateForm();
}

std::size_t KvMemory::cut(llama_seq_id slot, const TokenSequence& tokens, std::size_t keep) {
    const auto end = tokens.position(keep);
    if (keep > 0 && llama_memory_seq_rm(memory(), slot, end, -1) &&
        llama_memory_seq_pos_max(memory(), slot) == tokens.last_position(keep)) {
        const auto oldest = llama_memory_seq_pos_min(memory(), slot);
        if (keeps_all_ ? oldest == 0 : window_ == 0 || oldest <= std::max(0, end - window_)) {
            return keep;
        }
    }
    llama_memory_seq_rm(memory(), slot, -1, -1);
    return 0;
}

bool KvMemory::shift(llama_seq_id slot, llama_pos begin, llama_pos end) {
    if (!llama_memory_can_shift(memory()) || !keeps_all_ ||
        !llama_memory_seq_rm(memory(), slot, begin, end)) {
        return false;
    }
    llama_memory_seq_add(memory(), slot, end, -1, begin - end);
    return true;
}

std::optional<bool> KvMemory::copy(llama_seq_id from, llama_seq_id to) {
    const auto size = llama_state_seq_get_size(context_, from);
    const Pages bytes(size);
    const auto written = llama_state_seq_get_data(context_, bytes.data(), size, from);
    if (written == 0) {
        return std::nullopt;
    }
    return llama_state_seq_set_data(context_, bytes.data(), written, to) != 0;
}

void KvMemory::clear() {
    llama_memory_clear(memory(), true);
}

void KvMemory::save(llama_seq_id slot, const std::function<void(const StatePieces&)>& use) {
    const auto size = llama_state_seq_get_size(context_, slot);
    const Pages bytes(size);
    const Bytes state(bytes.data(), llama_state_seq_get_data(context_, bytes.data(), size, slot));
    if (state.empty()) {
        throw Error(SOTTO_ERROR_INFERENCE, "llama.cpp cannot save the KV cache");
    }
    use(form_.pieces_of(context_, state, slot));
}

bool KvMemory::restore(llama_seq_id slot, const StatePieces& pieces) {
    llama_memory_seq_rm(memory(), slot, -1, -1);
    const Pages whole(form_.whole_size(pieces));
    form_.write_whole(pieces, whole.data());
    if (llama_state_seq_set_data(context_, whole.data(), whole.size(), slot) == whole.size()) {
        return true;
    }
    llama_memory_seq_rm(memory(), slot, -1, -1);
    return false;
}

} // namespace sotto::llama
