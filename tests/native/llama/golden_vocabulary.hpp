// Vocabularies for the golden tests: those of llama.cpp's tree, and one for each chat template.
#pragma once

#include "token/tokenizer.hpp"

#include <filesystem>
#include <llama-cpp.h>
#include <string>
#include <vector>

namespace golden {

class Vocabulary {
public:
    explicit Vocabulary(const std::filesystem::path& gguf);
    // A vocabulary of all bytes, and of the markers in a template's `source` as tokens.
    static Vocabulary of_template(const std::string& source);

    const llama_model* model() const { return model_.get(); }
    const sotto::llama::Tokenizer& tokenizer() const { return *tokenizer_; }
    const llama_vocab* vocab() const { return llama_model_get_vocab(model_.get()); }
    std::vector<std::string> controls() const; // spellings of its special tokens

private:
    explicit Vocabulary(llama_model* model);

    llama_model_ptr model_;
    std::unique_ptr<sotto::llama::Tokenizer> tokenizer_;
};

} // namespace golden
