// Every vocabulary in llama.cpp's tree: tokenizing and detokenizing texts.
#include "golden_vocabulary.hpp"
#include "support/paths.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fstream>
#include <random>
#include <sstream>

using namespace golden;

namespace {

struct Pair {
    std::string text;
    std::vector<llama_token> tokens;
};

std::string content_of(const std::filesystem::path& path) {
    std::ostringstream content;
    content << std::ifstream(path, std::ios::binary).rdbuf();
    return content.str();
}

std::vector<std::filesystem::path> vocabulary_files() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(test::paths::kLlamaModels)) {
        if (entry.path().extension() == ".gguf") {
            files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

// Returns the texts and tokens recorded next to a vocabulary; none for some.
std::vector<Pair> pairs_of(const std::filesystem::path& gguf) {
    const std::string between = "\n__ggml_vocab_test__\n";
    auto texts = content_of(gguf.string() + ".inp");
    std::istringstream lines(content_of(gguf.string() + ".out"));
    std::vector<Pair> pairs;
    for (std::string line; std::getline(lines, line);) {
        const auto end = texts.find(between);
        Pair pair = {texts.substr(0, end), {}};
        texts.erase(0, end == std::string::npos ? texts.size() : end + between.size());
        std::istringstream numbers(line);
        for (llama_token token = 0; numbers >> token;) {
            pair.tokens.push_back(token);
        }
        pairs.push_back(std::move(pair));
    }
    CHECK(texts.empty());
    return pairs;
}

std::string utf8(unsigned code) {
    if (code < 0x80) {
        return {static_cast<char>(code)};
    }
    const auto rest = [&](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3F)); };
    if (code < 0x800) {
        return {static_cast<char>(0xC0 | code >> 6), rest(0)};
    }
    if (code < 0x10000) {
        return {static_cast<char>(0xE0 | code >> 12), rest(6), rest(0)};
    }
    return {static_cast<char>(0xF0 | code >> 18), rest(12), rest(6), rest(0)};
}

std::string random_text(std::mt19937& random) {
    constexpr std::pair<unsigned, unsigned> kScripts[] = {
        {0x20, 0x7E},
        {0x20, 0x7E},
        {0xC0, 0x17F},
        {0x400, 0x4FF},
        {0x5D0, 0x5EA},
        {0x905, 0x939},
        {0x3041, 0x3096},
        {0x4E00, 0x9FA5},
        {0x1F300, 0x1F64F}
    };
    std::string text;
    for (auto left = 1 + random() % 40; left > 0; --left) {
        const auto [from, to] = kScripts[random() % std::size(kScripts)];
        text += random() % 12 == 0 ? "\n" : utf8(from + random() % (to - from + 1));
    }
    return text;
}

std::string back_of(const sotto::llama::Tokenizer& tokenizer, const std::vector<llama_token>& tokens) {
    std::string text;
    std::string piece;
    for (const auto token : tokens) {
        tokenizer.text_of(token, piece);
        text += piece;
    }
    return text;
}

void check_pairs(const Vocabulary& vocabulary, const std::vector<Pair>& pairs) {
    for (const auto& [text, tokens] : pairs) {
        CAPTURE(text);
        CHECK(vocabulary.tokenizer().cut(text, false) == tokens);
        auto begun = tokens;
        if (llama_vocab_get_add_bos(vocabulary.vocab())) {
            begun.insert(begun.begin(), llama_vocab_bos(vocabulary.vocab()));
        }
        if (!begun.empty()) {
            CHECK(vocabulary.tokenizer().tokens({{text, false}}, 10'000) == begun);
        }
    }
}

// Two vocabularies normalise text: they drop case, accents, unknown letters or blanks.
void check_normalised(const Vocabulary& vocabulary, const std::string& back) {
    const auto tokens = vocabulary.tokenizer().cut("Crème  BRÛLÉE, 雨\n!", false);
    CHECK(back_of(vocabulary.tokenizer(), tokens) == back);
}

void check_back(const Vocabulary& vocabulary, const std::string& before) {
    std::mt19937 random(11);
    for (int i = 0; i < 100; ++i) {
        const auto text = random_text(random);
        CAPTURE(text);
        const auto& tokenizer = vocabulary.tokenizer();
        CHECK(back_of(tokenizer, tokenizer.cut(text, false)) == before + text);
    }
}

void check_spelt(const Vocabulary& vocabulary) {
    const auto& tokenizer = vocabulary.tokenizer();
    auto controls = vocabulary.controls();
    controls.resize(std::min<std::size_t>(controls.size(), 16));
    CHECK(!controls.empty());
    for (const auto& spelling : controls) {
        CAPTURE(spelling);
        const auto whole = tokenizer.cut(spelling, true);
        CHECK(std::any_of(whole.begin(), whole.end(), [&](auto token) {
            return tokenizer.piece_of(token) == spelling;
        }));
        for (const auto token : tokenizer.cut("I say " + spelling + " now", false)) {
            CHECK((llama_vocab_get_attr(vocabulary.vocab(), token) & LLAMA_TOKEN_ATTR_CONTROL) == 0);
        }
    }
}

} // namespace

TEST_CASE("every vocabulary tokenizes and detokenizes as recorded") {
    std::size_t count = 0;
    for (const auto& path : vocabulary_files()) {
        const auto name = path.stem().string();
        CAPTURE(name);
        const Vocabulary vocabulary(path);
        const auto pairs = pairs_of(path);
        count += pairs.size();
        check_pairs(vocabulary, pairs);
        check_spelt(vocabulary);
        if (name == "ggml-vocab-bert-bge") {
            check_normalised(vocabulary, " creme brulee , !");
        } else if (name == "ggml-vocab-nomic-bert-moe") {
            check_normalised(vocabulary, " Crème BRÛLÉE, 雨 !");
        } else { // SentencePiece vocabularies prepend a blank
            check_back(vocabulary, llama_vocab_type(vocabulary.vocab()) == LLAMA_VOCAB_TYPE_SPM ? " " : "");
        }
    }
    CHECK(count > 500);
}
