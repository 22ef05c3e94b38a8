#include "guard/automaton.hpp"

#include <darts.h>

namespace sotto::guard {

struct Automaton::Trie {
    Darts::DoubleArray array;
};

Automaton::Automaton(const std::vector<std::string>& keys) : trie_(std::make_unique<Trie>()) {
    std::vector<const char*> texts;
    std::vector<std::size_t> lengths;
    texts.reserve(keys.size());
    lengths.reserve(keys.size());
    for (const auto& key : keys) {
        texts.push_back(key.c_str());
        lengths.push_back(key.size());
    }
    try {
        // Without values, darts-clone builds a trie; with values, a DAG, whose states have no single depth.
        trie_->array.build(texts.size(), texts.data(), lengths.data());
    } catch (const Darts::Details::Exception&) {
        throw std::bad_alloc(); // the keys are valid
    }
    std::string bytes;
    for (const auto& key : keys) {
        for (const char byte : key) {
            if (bytes.find(byte) == bytes.npos) {
                bytes.push_back(byte);
            }
        }
    }
    link(bytes);
}

Automaton::~Automaton() = default;
Automaton::Automaton(Automaton&&) noexcept = default;
Automaton& Automaton::operator=(Automaton&&) noexcept = default;

bool Automaton::go(State& state, unsigned char byte) const noexcept {
    std::size_t node = state;
    std::size_t position = 0;
    const char key = static_cast<char>(byte);
    if (trie_->array.traverse(&key, node, position, 1) == -2) {
        return false;
    }
    state = static_cast<State>(node);
    return true;
}

Automaton::State Automaton::step(State state, unsigned char byte) const noexcept {
    while (!go(state, byte)) {
        if (state == kRoot) {
            return kRoot;
        }
        state = failures_[state];
    }
    return state;
}

std::int32_t Automaton::key(State state) const noexcept {
    std::size_t node = state;
    std::size_t position = 0;
    return state == kRoot ? -1 : trie_->array.traverse("", node, position, 0);
}

// `bytes`: all that the keys consist of. Breadth first, so that the links of shorter texts exist.
void Automaton::link(const std::string& bytes) {
    failures_.assign(trie_->array.size(), kRoot);
    outputs_.assign(trie_->array.size(), kRoot);
    depths_.assign(trie_->array.size(), 0);
    std::vector<State> level{kRoot};
    std::vector<State> next;
    for (std::uint16_t depth = 1; !level.empty(); ++depth, level.swap(next), next.clear()) {
        for (const auto parent : level) {
            for (const char next_byte : bytes) {
                const auto byte = static_cast<unsigned char>(next_byte);
                auto child = parent;
                if (!go(child, byte)) {
                    continue;
                }
                depths_[child] = depth;
                const auto failure = parent == kRoot ? kRoot : step(failures_[parent], byte);
                failures_[child] = failure;
                outputs_[child] = key(failure) >= 0 ? failure : outputs_[failure];
                next.push_back(child);
            }
        }
    }
}

} // namespace sotto::guard
