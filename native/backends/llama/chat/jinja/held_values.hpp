// Holds references to values that a chat template creates during a render: to strings, to measure the memory
// that they use, and to containers, to destroy them without recursion.
#pragma once

#include <cstddef>
#include <jinja/value.h>
#include <vector>

namespace sotto::llama {

// The texts of a render that are still in memory, and their total size.
class LiveTexts {
public:
    // Adds a text. `length`: its bytes, including those of its jinja::string_part objects.
    void add(const jinja::value& text, std::size_t length);
    // Returns true if enough bytes were added since the last sweep() to make another sweep worthwhile.
    bool due() const noexcept { return bytes_ > sweep_at_; }
    // Drops the texts that nothing else references. Returns the bytes of the remaining texts.
    std::size_t sweep();

private:
    std::vector<jinja::value> texts_;
    std::size_t bytes_ = 0;
    std::size_t sweep_at_ = 16 << 20; // bytes
};

// Containers that were stored in other containers. The containers are kept until nothing else references them
// or the render ends, so that a cycle does not leak and a chain of values is not destroyed recursively.
class KeptContainers {
public:
    KeptContainers() = default;
    ~KeptContainers() { sweep(true); }
    KeptContainers(const KeptContainers&) = delete;
    KeptContainers& operator=(const KeptContainers&) = delete;

    void keep(const jinja::value& value);

private:
    void sweep(bool all) noexcept;

    std::vector<jinja::value> kept_;
    std::size_t items_ = 0; // number of the containers in `kept_` and of the values directly inside them
    std::size_t sweep_at_ = 1 << 16; // items
};

} // namespace sotto::llama
