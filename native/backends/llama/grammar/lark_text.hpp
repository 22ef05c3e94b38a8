// Reads the text of a Lark grammar: places, spaces, names, numbers and literals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sotto::llama {

class LarkText {
public:
    LarkText(const std::string& text, const std::string& path) : text_(text), path_(path) {}

    std::size_t at() const noexcept { return at_; }
    bool done() const noexcept { return at_ == text_.size(); }
    bool sees(std::string_view what) const noexcept { return text_.compare(at_, what.size(), what) == 0; }
    bool sees_name() const noexcept;
    // Passes over `what`, and returns true, if the text goes on with it.
    bool take(std::string_view what) noexcept;
    void expect(std::string_view what);

    // Passes over spaces and comments, also over line ends where `lines` is set.
    void skip_space(bool lines) noexcept;
    // Passes over line ends if the first line that is not empty begins with "|".
    void skip_to_alternative() noexcept;

    std::string name();
    std::uint32_t number();
    // Reads a string in quotes with its flag; returns GBNF.
    std::string string();
    // Reads a string of one character in quotes; returns it as it stands in a character class of GBNF.
    std::string character();
    // Reads a regular expression with its flags; returns GBNF.
    std::string expression();

    // Goes back to a place.
    LarkText& go_to(std::size_t at) noexcept {
        at_ = at;
        return *this;
    }

    // Throws Error for the place `at`.
    [[noreturn]] void refuse(std::size_t at, const std::string& why) const;
    // Returns what is at the current place, for errors.
    std::string shown() const;

private:
    std::string quoted(bool& any_case);
    std::uint32_t escaped();

    const std::string& text_;
    const std::string& path_;
    std::size_t at_ = 0;
};

} // namespace sotto::llama
