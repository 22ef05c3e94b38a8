// Values that a render keeps alive: texts, to count those
// in memory, and containers, to destroy them safely.
#pragma once

#include <cstddef>
#include <jinja/value.h>
#include <vector>

namespace sotto::llama {

class LiveTexts {
public:
    // `length`: bytes, parts included.
    void add(const jinja::value& text, std::size_t length);
    // Returns true if enough texts were added for a sweep.
    bool due() const noexcept { return bytes_ > sweep_at_; }
    // Drops the texts that nothing else references. Returns the bytes of the remaining texts.
    std::size_t sweep();

private:
    std::vector<jinja::value> texts_;
    std::size_t bytes_ = 0;
    std::size_t sweep_at_ = 16 << 20; // bytes
};

// Containers that were stored in other containers. They are kept until the render ends, so that a
// cycle does not leak and a chain of values is not destroyed recursively.
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
    std::size_t items_ = 0;          // of `kept_` and their direct contents
    std::size_t sweep_at_ = 1 << 16; // items
};

} // namespace sotto::llama
