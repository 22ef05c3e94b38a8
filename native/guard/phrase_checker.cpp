#include "guard/phrase_checker.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "guard/unicode.hpp"

namespace sotto::guard {

// What one call of scan() works on.
struct PhraseChecker::Pass {
    const std::size_t from;
    TextView text;
    const std::vector<Segment>& segments;
    std::vector<Finding> findings;
    std::vector<Finding> allowed;
    std::size_t open;
};

namespace {

// Returns the symbols of a phrase. `spaces`: keeps the gaps. `capitals`: the number of first letters that are
// taken as capitals which look like another letter.
std::string symbols_of(const std::vector<Unit>& units, bool spaces, std::size_t capitals) {
    Symbols symbols;
    std::size_t at = 0;
    std::size_t letters = 0;
    const auto segments = read_segments(units);
    for (std::size_t s = 0; s < segments.size(); ++s) {
        if (s > 0 && spaces && !is_split(segments[s - 1], units[segments[s].first - 1], segments[s])) {
            symbols.add_gap(at);
        }
        for (at = segments[s].first; at <= segments[s].last; ++at) {
            auto unit = units[at];
            const auto capital = letters < capitals ? symbol_of_capital_of(unit.letter) : 0;
            unit.symbol = capital != 0 ? capital : unit.symbol;
            letters += unit.is_separator() ? 0 : 1;
            symbols.add(unit, at);
        }
    }
    return symbols.text();
}

} // namespace

void remove_overlaps(std::vector<Finding>& findings) {
    std::sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    std::vector<Finding> kept;
    for (const auto& finding : findings) {
        if (kept.empty() || finding.begin >= kept.back().end) {
            kept.push_back(finding);
        }
    }
    findings.swap(kept);
}

bool PhraseChecker::add(std::string_view phrase, bool allowed) {
    const bool begins = !phrase.empty() && phrase.front() == '*';
    phrase.remove_prefix(begins ? 1 : 0);
    const bool ends = !phrase.empty() && phrase.back() == '*';
    phrase.remove_suffix(ends ? 1 : 0);
    std::vector<Unit> units;
    read_units(phrase, own_, units);
    const auto letters =
        std::count_if(units.begin(), units.end(), [](const Unit& unit) { return !unit.is_separator(); });
    if (letters == 0 || static_cast<std::size_t>(letters) > kMaxLetters) {
        return false;
    }
    texts_.append(phrase);
    ends_.push_back(static_cast<std::uint32_t>(texts_.size()));
    const auto index = static_cast<std::uint32_t>(ends_.size() - 1);
    add_patterns(units, {index, allowed, begins || !whole_words_, ends || !whole_words_});
    return true;
}

void PhraseChecker::add_patterns(const std::vector<Unit>& units, const Entry& entry) {
    const auto any = [&](auto&& is) { return std::any_of(units.begin(), units.end(), is); };
    const bool gaps = any([](const Unit& unit) { return unit.is_gap(); });
    const bool odd_capitals = any([](const Unit& unit) { return symbol_of_capital_of(unit.letter) != 0; });
    std::set<std::string> variants;
    for (const std::size_t capitals : {std::size_t{0}, std::size_t{1}, kMaxLetters}) {
        variants.insert(symbols_of(units, true, capitals));
        if (gaps) {
            variants.insert(symbols_of(units, false, capitals));
        }
        if (!odd_capitals) {
            break;
        }
    }
    for (const auto& symbols : variants) {
        patterns_.push_back({symbols, entry});
    }
}

void PhraseChecker::build() {
    std::stable_sort(patterns_.begin(), patterns_.end(), [](const Pattern& a, const Pattern& b) {
        return a.symbols < b.symbols;
    });
    std::vector<std::string> keys;
    for (auto& pattern : patterns_) {
        if (keys.empty() || keys.back() != pattern.symbols) {
            keys.push_back(std::move(pattern.symbols));
            groups_.push_back(static_cast<std::uint32_t>(entries_.size()));
        }
        entries_.push_back(pattern.entry);
    }
    groups_.push_back(static_cast<std::uint32_t>(entries_.size()));
    patterns_ = {};
    if (!keys.empty()) {
        automaton_.emplace(keys);
    }
}

std::string_view PhraseChecker::phrase(std::size_t index) const noexcept {
    const std::size_t begin = index > 0 ? ends_[index - 1] : 0;
    return std::string_view(texts_).substr(begin, ends_[index] - begin);
}

Scan PhraseChecker::scan(std::string_view text, std::size_t from, bool whole) const {
    const auto size = whole ? text.size() : std::max(decided_size(text), from);
    std::vector<Unit> units;
    read_units(text.substr(0, size), own_, units);
    const auto segments = read_segments(units);
    Pass pass{from, {text.substr(0, size), units, whole}, segments, {}, {}, size};
    if (automaton_ && !segments.empty()) {
        run(pass);
    }
    std::erase_if(pass.findings, [&](const Finding& found) {
        return found.begin >= pass.open ||
               std::any_of(pass.allowed.begin(), pass.allowed.end(), [&](const Finding& allowed) {
                   return allowed.begin <= found.begin && found.end <= allowed.end;
               });
    });
    remove_overlaps(pass.findings);
    return {std::move(pass.findings), pass.open};
}

// Reads the text up to the last gap, whose meaning the words on both sides decide; then what follows, with
// the gap and without, if the last word may become longer.
void PhraseChecker::run(Pass& pass) const {
    const auto& units = pass.text.units;
    const auto& segments = pass.segments;
    Symbols symbols;
    symbols.reserve(units.size());
    auto state = Automaton::kRoot;
    std::size_t read = 0;
    const auto catch_up = [&](Symbols& stream, Automaton::State& reached, std::size_t& position) {
        for (; position < stream.text().size(); ++position) {
            reached = automaton_->step(reached, static_cast<unsigned char>(stream.text()[position]));
            look(pass, stream, reached, position);
        }
    };
    const bool ends_open = !pass.text.whole;
    const bool gap_open = ends_open && units.back().is_gap();
    for (std::size_t s = 0; s < segments.size(); ++s) {
        const bool last_open = ends_open && !gap_open && s + 1 == segments.size();
        if (s > 0) {
            const auto gap = segments[s].first - 1;
            if (last_open) {
                catch_up(symbols, state, read);
                auto joined = symbols;
                auto joined_state = state;
                auto joined_read = read;
                for (auto at = segments[s].first; at <= segments[s].last; ++at) {
                    joined.add(units[at], at);
                }
                catch_up(joined, joined_state, joined_read);
                hold(pass, joined, joined_state);
                symbols.add_gap(gap);
            } else if (!is_split(segments[s - 1], units[gap], segments[s])) {
                symbols.add_gap(gap);
            }
        }
        for (auto at = segments[s].first; at <= segments[s].last; ++at) {
            symbols.add(units[at], at);
        }
    }
    catch_up(symbols, state, read);
    if (ends_open) {
        hold(pass, symbols, state);
    }
    if (gap_open) {
        symbols.add_gap(units.size() - 1);
        catch_up(symbols, state, read);
        hold(pass, symbols, state);
    }
}

// Keeps back the longest end of the text that may be the beginning of a phrase.
void PhraseChecker::hold(Pass& pass, const Symbols& symbols, Automaton::State state) const {
    const auto size = symbols.text().size();
    for (; state != Automaton::kRoot; state = automaton_->shorter(state)) {
        for (const auto first : edges(pass, symbols.first_unit(size - automaton_->depth(state)), 1)) {
            if (!whole_words_ || begins_word(pass.text, first) != Outcome::no) {
                pass.open =
                    std::min(pass.open, std::max<std::size_t>(pass.text.units[first].begin, pass.from));
                return;
            }
        }
    }
}

void PhraseChecker::look(Pass& pass, const Symbols& symbols, Automaton::State state, std::size_t byte) const {
    if (automaton_->key(state) < 0) {
        state = automaton_->shorter_key(state);
    }
    for (; state != Automaton::kRoot; state = automaton_->shorter_key(state)) {
        const auto key = static_cast<std::size_t>(automaton_->key(state));
        const auto first = symbols.first_unit(byte + 1 - automaton_->depth(state));
        for (auto e = groups_[key]; e < groups_[key + 1]; ++e) {
            judge(pass, entries_[e], first, symbols.last_unit(byte));
        }
    }
}

// Returns the units of a run of look-alike letters at which a phrase may begin (direction 1, from the run's
// first unit) or end (direction -1, from its last one): that unit, and those beside a separator.
std::vector<std::size_t> PhraseChecker::edges(const Pass& pass, std::size_t edge, std::ptrdiff_t direction) {
    const auto& units = pass.text.units;
    std::vector<std::size_t> found{edge};
    bool separated = false;
    for (auto i = static_cast<std::ptrdiff_t>(edge) + direction;
         i >= 0 && i < static_cast<std::ptrdiff_t>(units.size());
         i += direction) {
        const auto& unit = units[static_cast<std::size_t>(i)];
        if (unit.is_separator()) {
            separated = true;
        } else if (unit.symbol != units[edge].symbol) {
            break;
        } else if (std::exchange(separated, false)) {
            found.push_back(static_cast<std::size_t>(i));
        }
    }
    return found;
}

// A run of equal letters may reach over a separator from or into another word: `a a s s`, `kill l8r`. Tries
// each end.
void PhraseChecker::judge(Pass& pass, const Entry& entry, std::size_t first, std::size_t last) const {
    const auto& units = pass.text.units;
    Phrase phrase{{}, entry.begins_anywhere, entry.ends_anywhere};
    for (const auto begin : edges(pass, first, 1)) {
        for (const auto end : edges(pass, last, -1)) {
            if (end < begin || (!phrase.begins_anywhere && begins_word(pass.text, begin) == Outcome::no)) {
                continue;
            }
            if (phrase.units.empty()) {
                read_units(this->phrase(entry.phrase), own_, phrase.units);
            }
            const auto outcome = verify(phrase, pass.text, begin, end);
            const Finding found{units[begin].begin, units[end].end};
            if (outcome == Outcome::undecided) {
                pass.open = std::min(pass.open, std::max<std::size_t>(found.begin, pass.from));
            } else if (outcome == Outcome::yes && found.begin >= pass.from) {
                (entry.allowed ? pass.allowed : pass.findings).push_back(found);
                return;
            }
        }
    }
}

} // namespace sotto::guard
