// An Aho-Corasick automaton: a double-array trie of darts-clone, with failure links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sotto::guard {

// Immutable once built. Any thread may read it.
class Automaton {
public:
    using State = std::uint32_t;
    static constexpr State kRoot = 0;

    // `keys`: sorted, unique, not empty, without NUL.
    explicit Automaton(const std::vector<std::string>& keys);
    ~Automaton();
    Automaton(Automaton&&) noexcept;
    Automaton& operator=(Automaton&&) noexcept;

    State step(State state, unsigned char byte) const noexcept;
    // Returns the index of the key that ends in this state, or -1.
    std::int32_t key(State state) const noexcept;
    // Returns the state of the longest key that is a proper suffix of this state's text, or kRoot.
    State shorter_key(State state) const noexcept { return outputs_[state]; }
    // Returns the state of the longest proper suffix that is the beginning of a key.
    State shorter(State state) const noexcept { return failures_[state]; }
    // Number of bytes of this state's text.
    std::size_t depth(State state) const noexcept { return depths_[state]; }

private:
    struct Trie;

    bool go(State& state, unsigned char byte) const noexcept;
    void link(const std::string& bytes);

    std::unique_ptr<Trie> trie_;
    std::vector<State> failures_;
    std::vector<State> outputs_;
    std::vector<std::uint16_t> depths_;
};

} // namespace sotto::guard
