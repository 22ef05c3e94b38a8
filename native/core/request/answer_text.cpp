#include "core/request/answer_text.hpp"

namespace sotto {

bool AnswerText::feed(std::string_view bytes, std::string& shown) {
    std::string characters;
    characters_.feed(bytes, characters);
    stopped_ = stops_.feed(characters, shown);
    return stopped_;
}

std::string AnswerText::finish() {
    std::string shown;
    if (!stopped_) {
        std::string characters;
        characters_.finish(characters);
        if (!stops_.feed(characters, shown)) {
            stops_.finish(shown);
        }
    }
    return shown;
}

} // namespace sotto
