// Assembles complete UTF-8 characters from bytes that arrive in arbitrary pieces.
#pragma once

#include <string>
#include <string_view>

namespace sotto {

// Holds back the bytes of a character until it is complete. Replaces ill-formed bytes by U+FFFD, once for
// each maximal ill-formed subpart (Unicode 15, section 3.9).
class Utf8Stream {
public:
    // Consumes bytes and appends each character to `out` once the character is complete.
    void feed(std::string_view bytes, std::string& out);

    // Ends the stream: appends U+FFFD to `out` in place of an incomplete character.
    void finish(std::string& out);

private:
    std::string held_;
};

// Returns true if `text` is well-formed UTF-8.
bool is_utf8(std::string_view text) noexcept;

// Returns `text` with each ill-formed part replaced by U+FFFD.
std::string well_formed_utf8(std::string_view text);

} // namespace sotto
