// Validates the layout of GGUF files before llama.cpp reads them.
#include "file/gguf_check.hpp"

#include <unordered_set>

namespace sotto::llama {
namespace {

// Some tokenizers recurse for each byte: a token of 60,000 bytes overflows the stack. The longest token of a
// known published vocabulary has 1,024 bytes.
constexpr std::uint64_t kMaxTokenBytes = 2048;
constexpr std::uint64_t kMaxMergeBytes = 2 * kMaxTokenBytes + 1;
constexpr std::uint64_t kMapAlignment = 32; // alignment that ggml's CPU buffers require

[[noreturn]] void refuse(const std::string& reason) {
    throw Error(SOTTO_ERROR_MODEL, reason);
}

// Decodes a token as RWKV's tokenizer does: escapes \t, \n, \r and \x with two digits; any other escaped
// character stands for itself.
std::string unescaped(std::string_view token) {
    std::string bytes;
    for (std::size_t i = 0; i < token.size(); ++i) {
        if (token[i] != '\\') {
            bytes.push_back(token[i]);
        } else if (++i < token.size() && token[i] != 'x') {
            const char c = token[i];
            bytes.push_back(c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c);
        } else if (i + 2 < token.size()) {
            const auto digit = [&](std::size_t at) {
                return token[at] >= 'a' ? token[at] - 'a' + 10 : token[at] - '0';
            };
            bytes.push_back(static_cast<char>(digit(i + 1) * 16 + digit(i + 2)));
            i += 2;
        } else {
            break; // the token ends within an escape
        }
    }
    return bytes;
}

void note_bytes(GgufValue& value, std::string_view token) {
    const auto bytes = unescaped(token);
    if (!bytes.empty()) {
        const auto first = static_cast<unsigned char>(bytes.front());
        value.begins.set(first);
        value.alone.set(first, bytes.size() == 1 || value.alone.test(first));
    }
}

// Reads the tokens of a vocabulary. Throws if two tokens are equal, because llama.cpp asserts that tokens are
// distinct. Several tokens may be empty: llama.cpp replaces each of them by a distinct name.
void read_tokens(gguf::Reader& reader, const std::string& key, GgufValue& value) {
    std::unordered_set<std::string> seen;
    seen.reserve(value.count);
    for (std::uint64_t i = 0; i < value.count; ++i) {
        const auto size = gguf::read_string_size(reader, key, i, kMaxTokenBytes);
        auto token = reader.text_of(size);
        note_bytes(value, token);
        value.cubes += static_cast<double>(size * size * size);
        if (!token.empty() && !seen.insert(std::move(token)).second) {
            refuse("duplicate token " + std::to_string(i) + " in " + key + "; convert the model again");
        }
    }
}

// Reads the strings of a vocabulary, see gguf::StringsReader.
bool read_vocabulary(gguf::Reader& reader, const std::string& key, GgufValue& value) {
    if (key == "tokenizer.ggml.tokens") {
        read_tokens(reader, key, value);
        return true;
    }
    if (key == "tokenizer.ggml.merges") {
        for (std::uint64_t i = 0; i < value.count; ++i) {
            reader.skip(gguf::read_string_size(reader, key, i, kMaxMergeBytes));
        }
        return true;
    }
    return false;
}

void check_values(const GgufValues& values, GgufKind kind) {
    if (kind == GgufKind::Model) {
        check_gguf_values(values);
    } else if (kind == GgufKind::Projector) {
        check_projector_values(values);
    }
}

// Estimates llama.cpp's memory for a vocabulary: each token is a string in two lists and in a hash table,
// each merge a pair of strings in another hash table.
std::uint64_t bytes_of_vocabulary(const GgufValues& values) {
    constexpr std::uint64_t kNode = 40; // overhead of a hash table node: links, hash, heap
    const auto count = [&](const char* key) {
        const auto found = values.find(key);
        return found == values.end() ? 0 : found->second.count;
    };
    constexpr auto kToken = 3 * sizeof(std::string) + 3 * sizeof(std::uint32_t) + kNode;
    constexpr auto kMerge = 2 * sizeof(std::string) + sizeof(std::uint32_t) + kNode;
    return count("tokenizer.ggml.tokens") * kToken + count("tokenizer.ggml.merges") * kMerge;
}

GgufFacts facts_of(Source& source, GgufKind kind) {
    gguf::Reader reader(source);
    auto header = gguf::read_header(reader, read_vocabulary);
    const auto& values = header.values;
    check_values(values, kind);
    auto layout = gguf::read_tensors(reader, header);
    check_gguf_tensors(layout.tensors);
    if (kind == GgufKind::Projector) {
        check_projector_tensors(values, layout.tensors);
    }
    GgufFacts facts;
    facts.weights = layout.bytes;
    facts.data = layout.data;
    if (kind != GgufKind::Projector) {
        facts.tensors = std::move(layout.tensors);
    }
    if (kind == GgufKind::Adapter) {
        facts.values = std::move(header.values);
        return facts;
    }
    facts.architecture = values.find("general.architecture")->second.text;
    facts.trained_context =
        static_cast<std::uint32_t>(gguf_number(values, facts.architecture + ".context_length", 0));
    facts.vocabulary = bytes_of_vocabulary(values);
    facts.causal = gguf_number(values, facts.architecture + ".attention.causal", 1) != 0;
    facts.data_aligned = facts.data % kMapAlignment == 0 && header.alignment % kMapAlignment == 0;
    return facts;
}

} // namespace

GgufFacts check_gguf(Source& source, GgufKind kind) {
    try {
        return facts_of(source, kind);
    } catch (const sotto::Error& error) { // the layer gguf knows no Error of one line
        throw Error(error.status(), error.what());
    }
}

} // namespace sotto::llama
