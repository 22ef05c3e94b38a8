// Finds the saved KV cache state that is most similar to a new state, so that the new state can be compressed
// with the similar state as the prefix.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sotto {

struct KvStateEntry;

// The newest uncompressed states, which can serve as prefixes for compressing other states. Compares the
// first kHead bytes of states. Not thread-safe.
class SimilarStates {
public:
    // Number of bytes of each state that are compared.
    static constexpr std::size_t kHead = 8192;

    // Returns the state of model `whose` with the longest common prefix with `head`; null if no
    // common prefix is long enough.
    std::shared_ptr<KvStateEntry> find(std::string_view whose, std::string_view head) const;
    // Adds a state; removes the oldest state if the list is full.
    void add(std::string whose, std::string head, std::weak_ptr<KvStateEntry> entry);

private:
    struct Whole {
        std::string whose;
        std::string head;
        std::weak_ptr<KvStateEntry> entry;
    };

    std::vector<Whole> whole_;
};

} // namespace sotto
