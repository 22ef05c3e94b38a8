#include "core/request/answer_text.hpp"

namespace sotto {

bool AnswerText::feed(std::string_view bytes, std::string& shown) {
    std::string characters;
    characters_.feed(bytes, characters);
    std::string passed;
    stopped_ = stops_.feed(characters, passed);
    show(passed, false, shown);
    return stopped_;
}

void AnswerText::show(std::string_view text, bool last, std::string& shown) {
    if (!guard_) {
        shown += text;
        shown_bytes_ += text.size();
        return;
    }
    const bool rewritten = guard_->action() == guard::Action::rewrite;
    const auto before = shown.size();
    guard_->feed(text, shown);
    if (last) {
        guard_->finish(shown);
    }
    if (!rewritten && guard_->action() != guard::Action::rewrite) {
        shown_bytes_ += shown.size() - before;
    }
}

std::string AnswerText::finish() {
    std::string passed;
    if (!stopped_) {
        std::string characters;
        characters_.finish(characters);
        if (!stops_.feed(characters, passed)) {
            stops_.finish(passed);
        }
    }
    std::string shown;
    show(passed, true, shown);
    return shown;
}

} // namespace sotto
