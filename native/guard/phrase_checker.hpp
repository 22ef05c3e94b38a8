// Finds phrases in text, however they are written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "guard/automaton.hpp"
#include "guard/checker.hpp"
#include "guard/phrase.hpp"

namespace sotto::guard {

class PhraseChecker : public TextChecker {
public:
    // `own`: see read_units(). `whole_words`: a phrase is no part of a longer word, unless it begins or ends
    // with `*`.
    PhraseChecker(std::u32string own, bool whole_words) : own_(std::move(own)), whole_words_(whole_words) {}

    // Adds a phrase to find or, with `allowed`, one within which no other phrase counts. Returns false if the
    // phrase has no letter or more than kMaxLetters.
    bool add(std::string_view phrase, bool allowed);
    // Call after the last add().
    void build();

    Scan scan(std::string_view text, std::size_t from, bool whole) const override;

    static constexpr std::size_t kMaxLetters = 256;

private:
    struct Entry {
        std::uint32_t phrase;
        bool allowed;
        bool begins_anywhere;
        bool ends_anywhere;
    };
    struct Pattern {
        std::string symbols;
        Entry entry;
    };
    struct Pass;

    static std::vector<std::size_t> edges(const Pass& pass, std::size_t edge, std::ptrdiff_t direction);
    void add_patterns(const std::vector<Unit>& units, const Entry& entry);
    void look(Pass& pass, const Symbols& symbols, Automaton::State state, std::size_t byte) const;
    void judge(Pass& pass, const Entry& entry, std::size_t first, std::size_t last) const;
    void hold(Pass& pass, const Symbols& symbols, Automaton::State state) const;
    void run(Pass& pass) const;
    std::string_view phrase(std::size_t index) const noexcept;

    const std::u32string own_;
    const bool whole_words_;
    std::string texts_;
    std::vector<std::uint32_t> ends_; // of each phrase in texts_
    std::vector<Pattern> patterns_;   // empty after build()
    std::vector<Entry> entries_;      // grouped by key of the automaton
    std::vector<std::uint32_t> groups_;
    std::optional<Automaton> automaton_;
};

} // namespace sotto::guard
