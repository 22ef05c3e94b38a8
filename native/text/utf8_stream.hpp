// Turns bytes that arrive in any pieces into whole characters.
#pragma once

#include <string>
#include <string_view>

namespace sotto {

// Holds back the bytes of a character until it is whole. What can never become one is replaced by
// U+FFFD, once for each maximal ill-formed part (Unicode 15, section 3.9).
class Utf8Stream {
public:
    // Takes more bytes; appends the characters that are whole now to `out`.
    void feed(std::string_view bytes, std::string& out);

    // The bytes are over: what is held back is ill-formed.
    void finish(std::string& out);

private:
    std::string held_;
};

// Whether `text` is well-formed UTF-8.
bool is_utf8(std::string_view text) noexcept;

// `text` with U+FFFD in place of each ill-formed part.
std::string well_formed_utf8(std::string_view text);

} // namespace sotto
