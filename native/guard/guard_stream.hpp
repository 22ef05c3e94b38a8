// Checks a text that arrives in pieces, and releases what no rule can object to any more.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "guard/guard.hpp"
#include "text/utf8_stream.hpp"

namespace sotto::guard {

// One thread at a time.
class GuardStream {
public:
    GuardStream(std::shared_ptr<const Guard> guard, Stage stage);

    // Adds bytes of the text and appends to `released` what may be shown. Once a checker has blocked the
    // text, everything that follows is dropped.
    void feed(std::string_view bytes, std::string& released);
    // Ends the text and appends the rest of what may be shown to `released`. Call once.
    void finish(std::string& released);

    bool blocked() const noexcept { return verdict_.action == Action::block; }
    Action action() const noexcept { return verdict_.action; }
    // Returns the number of bytes that are held back.
    std::size_t held() const noexcept;
    // Returns the verdict on all text so far.
    Verdict verdict() const;

private:
    // What one rule has not released.
    struct Filter {
        const Rule* rule;
        std::string window;   // context that is released, then text that is not
        std::size_t from = 0; // first byte of that text
        bool blocked = false;
    };

    void pass(std::string text, bool last, std::string& released);
    bool filter(Filter& filter, std::string_view text, bool last, std::string& out);

    std::shared_ptr<const Guard> guard_;
    std::vector<Filter> filters_;
    Utf8Stream characters_;
    Verdict verdict_;
    std::string original_;
    std::string released_;
};

} // namespace sotto::guard
