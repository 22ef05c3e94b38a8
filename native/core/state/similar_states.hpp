// Finds the state that another one is most similar to.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sotto {

struct KvStateEntry;

// The latest whole states that others may be packed with, compared by how they begin. One thread's.
class SimilarStates {
public:
    // Bytes of a state's beginning that it is compared by.
    static constexpr std::size_t kHead = 8192;

    // The state of the model `whose` that begins most like `head`; null if none begins like it for long
    // enough.
    std::shared_ptr<KvStateEntry> find(std::string_view whose, std::string_view head) const;
    // Remembers a state, in the place of the oldest if there are many.
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
