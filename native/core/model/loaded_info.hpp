// Properties of a model, known from its last load.
#pragma once

#include <cstdint>
#include <string>

namespace sotto {

// Control thread only. Kept while the model is evicted.
struct LoadedInfo {
    std::uint64_t number = 0;      // differs for each request to load a model; set by the registry
    std::string backend;           // backend name
    std::string details = "{}";    // JSON object from the backend
    std::uint32_t context = 0;     // tokens per stream
    std::uint64_t host = 0;        // bytes of host memory, if the budget counts device memory
    std::uint32_t max_slots = 0;   // 0: never loaded
    std::uint32_t operations = 0;  // as bit flags, see sotto_operations
    std::uint64_t kv_per_slot = 0; // bytes of KV cache per slot
    // Slots at load time; bytes of compute buffers for these, and for the maximum number of slots.
    std::uint32_t first_slots = 0;
    std::uint64_t first_compute = 0;
    std::uint64_t max_compute = 0;
    std::uint64_t min_bytes = 0; // minimum memory in bytes with which the model can answer requests

    // Returns the bytes of compute buffers for `slots` slots.
    std::uint64_t compute_for(std::uint32_t slots) const noexcept {
        return slots > first_slots ? max_compute : first_compute;
    }
    // Returns the bytes needed for the first slot if the model has none.
    std::uint64_t first_slot_bytes() const noexcept { return compute_for(1) + kv_per_slot; }
};

} // namespace sotto
