// Finds the saved KV cache that is most similar to a new one, to compress the new one with it as the prefix.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sotto {

struct KvStateEntry;

// The latest states that are stored whole, so that others can be compressed with them as the prefix. Compares
// the first kHead bytes of states. Not thread-safe.
class SimilarStates {
public:
    // Bytes compared.
    static constexpr std::size_t kHead = 8192;

    // Returns the state of model `whose` with the longest common prefix with `head`; null if no
    // common prefix is long enough.
    std::shared_ptr<KvStateEntry> find(std::string_view whose, std::string_view head) const;
    // Adds a state; removes the oldest if there are too many.
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
