// Validates the layout of GGUF files before llama.cpp reads them.
#include "file/gguf_check.hpp"

#include "file/gguf_reader.hpp"

#include <bit>
#include <ggml.h>
#include <gguf.h>
#include <unordered_set>

namespace sotto::llama {
namespace {

// Limits far above real models, and low enough to bound memory and time.
constexpr std::uint64_t kMaxEntries = 1 << 20;
constexpr std::uint64_t kMaxKeyBytes = 1 << 16;
constexpr std::uint64_t kMaxTextBytes = 1 << 26;
constexpr std::uint64_t kMaxElements = 1 << 30;
// Some tokenizers recurse for each byte: a token of 60,000 bytes overflows the stack. The longest token of a
// known published vocabulary has 1,024 bytes.
constexpr std::uint64_t kMaxTokenBytes = 2048;
constexpr std::uint64_t kMaxMergeBytes = 2 * kMaxTokenBytes + 1;
constexpr std::uint64_t kMaxAlignment = 1 << 20;
constexpr std::uint64_t kMapAlignment = 32; // alignment that ggml's CPU buffers require

[[noreturn]] void refuse(const std::string& reason) {
    throw Error(SOTTO_ERROR_MODEL, reason);
}

struct Header {
    std::uint64_t tensors = 0;
    std::uint64_t values = 0;
};

Header read_header(GgufReader& reader) {
    constexpr std::uint32_t kMagic = 0x46554747; // "GGUF"
    if (reader.left() < 24 || reader.number<std::uint32_t>() != kMagic) {
        refuse("the file is not a GGUF file");
    }
    const auto version = reader.number<std::uint32_t>();
    if (version < 2 || version > 3) {
        refuse(invalid("GGUF version", std::to_string(version), "2 or 3; convert the model again"));
    }
    Header header;
    header.tensors = reader.number<std::uint64_t>();
    header.values = reader.number<std::uint64_t>();
    if (header.tensors > kMaxEntries || header.values > kMaxEntries) {
        refuse(
            "invalid header of " + std::to_string(header.tensors) + " tensors and " +
            std::to_string(header.values) + " values: expected at most " + std::to_string(kMaxEntries) +
            " of each"
        );
    }
    return header;
}

std::uint64_t size_of_type(std::uint32_t type) {
    switch (type) {
    case GGUF_TYPE_UINT8:
    case GGUF_TYPE_INT8:
    case GGUF_TYPE_BOOL:
        return 1;
    case GGUF_TYPE_UINT16:
    case GGUF_TYPE_INT16:
        return 2;
    case GGUF_TYPE_UINT32:
    case GGUF_TYPE_INT32:
    case GGUF_TYPE_FLOAT32:
        return 4;
    case GGUF_TYPE_UINT64:
    case GGUF_TYPE_INT64:
    case GGUF_TYPE_FLOAT64:
        return 8;
    default:
        return 0;
    }
}

double read_number(GgufReader& reader, std::uint32_t type) {
    switch (type) {
    case GGUF_TYPE_UINT8:
    case GGUF_TYPE_BOOL:
        return reader.number<std::uint8_t>();
    case GGUF_TYPE_INT8:
        return reader.number<std::int8_t>();
    case GGUF_TYPE_UINT16:
        return reader.number<std::uint16_t>();
    case GGUF_TYPE_INT16:
        return reader.number<std::int16_t>();
    case GGUF_TYPE_UINT32:
        return reader.number<std::uint32_t>();
    case GGUF_TYPE_INT32:
        return reader.number<std::int32_t>();
    case GGUF_TYPE_FLOAT32:
        return reader.number<float>();
    case GGUF_TYPE_UINT64:
        return static_cast<double>(reader.number<std::uint64_t>());
    case GGUF_TYPE_INT64:
        return static_cast<double>(reader.number<std::int64_t>());
    default:
        return reader.number<double>();
    }
}

// Reads the length of string `index` of the array `key`.
std::uint64_t
read_size(GgufReader& reader, const std::string& key, std::uint64_t index, std::uint64_t max_bytes) {
    const auto size = reader.number<std::uint64_t>();
    if (size > max_bytes) {
        refuse(
            "invalid " + key + "[" + std::to_string(index) + "] of " + std::to_string(size) +
            " bytes: expected at most " + std::to_string(max_bytes) + "; convert the model again"
        );
    }
    return size;
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
void read_tokens(GgufReader& reader, const std::string& key, GgufValue& value) {
    std::unordered_set<std::string> seen;
    seen.reserve(value.count);
    for (std::uint64_t i = 0; i < value.count; ++i) {
        const auto size = read_size(reader, key, i, kMaxTokenBytes);
        auto token = reader.text_of(size);
        note_bytes(value, token);
        value.cubes += static_cast<double>(size * size * size);
        if (!token.empty() && !seen.insert(std::move(token)).second) {
            refuse("duplicate token " + std::to_string(i) + " in " + key + "; convert the model again");
        }
    }
}

void read_elements(GgufReader& reader, const std::string& key, GgufValue& value) {
    const bool strings = value.type == GGUF_TYPE_STRING;
    const auto each = strings ? sizeof(std::uint64_t) : size_of_type(value.type);
    if (each == 0) {
        refuse(key + ": unknown type " + std::to_string(value.type));
    }
    if (value.count > kMaxElements || value.count > reader.left() / each) {
        refuse(key + ": " + std::to_string(value.count) + " elements do not fit into the file");
    }
    if (key == "tokenizer.ggml.tokens" && strings) {
        read_tokens(reader, key, value);
    } else if (strings) {
        const auto max_bytes = key == "tokenizer.ggml.merges" ? kMaxMergeBytes : kMaxTextBytes;
        for (std::uint64_t i = 0; i < value.count; ++i) {
            reader.skip(read_size(reader, key, i, max_bytes));
        }
    } else {
        const auto kept = std::min<std::uint64_t>(value.count, kGgufKeptNumbers);
        for (std::uint64_t i = 0; i < kept; ++i) {
            value.numbers.push_back(read_number(reader, value.type));
        }
        reader.skip((value.count - kept) * each);
    }
}

GgufValue read_value(GgufReader& reader, const std::string& key) {
    GgufValue value;
    value.type = reader.number<std::uint32_t>();
    if (value.type == GGUF_TYPE_ARRAY) {
        value.is_array = true;
        value.type = reader.number<std::uint32_t>();
        value.count = reader.number<std::uint64_t>();
        read_elements(reader, key, value);
    } else if (value.type == GGUF_TYPE_STRING) {
        value.text = reader.text(kMaxTextBytes);
    } else if (size_of_type(value.type) != 0) {
        value.numbers.push_back(read_number(reader, value.type));
    } else {
        refuse(key + ": unknown type " + std::to_string(value.type));
    }
    return value;
}

GgufValues read_values(GgufReader& reader, std::uint64_t count) {
    GgufValues values;
    for (std::uint64_t i = 0; i < count; ++i) {
        auto key = reader.text(kMaxKeyBytes);
        if (key.empty() || key.find('\0') != std::string::npos) {
            refuse("invalid name of metadata value " + std::to_string(i) + ": expected text without NUL");
        }
        auto value = read_value(reader, key);
        if (!values.emplace(key, std::move(value)).second) {
            refuse("duplicate " + key + ": expected one value");
        }
    }
    return values;
}

GgufTensor read_tensor(GgufReader& reader, std::uint64_t expected_offset) {
    GgufTensor tensor;
    tensor.name = reader.text(kMaxKeyBytes);
    const auto& name = tensor.name;
    if (name.empty() || name.size() >= GGML_MAX_NAME || name.find('\0') != std::string::npos) {
        refuse(
            "invalid tensor name of " + std::to_string(name.size()) + " bytes: expected 1 to " +
            std::to_string(GGML_MAX_NAME - 1) + " bytes without NUL"
        );
    }
    const auto dimensions = reader.number<std::uint32_t>();
    if (dimensions < 1 || dimensions > GGML_MAX_DIMS) {
        refuse(
            "tensor '" + name + "': " + std::to_string(dimensions) + " dimensions; expected 1 to " +
            std::to_string(GGML_MAX_DIMS)
        );
    }
    std::uint64_t row = 0;
    tensor.elements = 1;
    for (std::uint32_t i = 0; i < dimensions; ++i) {
        const auto extent = reader.number<std::uint64_t>();
        constexpr std::uint64_t kMax = std::uint64_t{1} << 48;
        if (extent == 0 || extent > kMax || tensor.elements > kMax / extent) {
            refuse(
                "tensor '" + name + "': extent " + std::to_string(extent) + "; expected 1 to " +
                std::to_string(kMax) + " elements in all"
            );
        }
        tensor.elements *= extent;
        tensor.extents.push_back(extent);
        row = i == 0 ? extent : row;
    }
    const auto type = reader.number<std::uint32_t>();
    const auto known = type < GGML_TYPE_COUNT ? static_cast<ggml_type>(type) : GGML_TYPE_COUNT;
    if (known == GGML_TYPE_COUNT || ggml_blck_size(known) == 0 || ggml_type_size(known) == 0) {
        refuse("tensor '" + name + "': unknown type " + std::to_string(type));
    }
    const auto block = static_cast<std::uint64_t>(ggml_blck_size(known));
    if (row % block != 0) {
        refuse(
            "tensor '" + name + "': rows of " + std::to_string(row) + " elements; expected a multiple of " +
            std::to_string(block)
        );
    }
    tensor.type = type;
    tensor.offset = expected_offset;
    tensor.bytes = tensor.elements / block * ggml_type_size(known);
    if (const auto offset = reader.number<std::uint64_t>(); offset != expected_offset) {
        refuse(
            "tensor '" + name + "': offset " + std::to_string(offset) + "; expected " +
            std::to_string(expected_offset)
        );
    }
    return tensor;
}

std::uint64_t alignment_of(const GgufValues& values) {
    const auto found = values.find("general.alignment");
    if (found == values.end()) {
        return GGUF_DEFAULT_ALIGNMENT;
    }
    const auto alignment = gguf_number(values, "general.alignment", 0);
    const bool sane = found->second.type == GGUF_TYPE_UINT32 && alignment >= 1 && alignment <= kMaxAlignment;
    if (!sane || !std::has_single_bit(static_cast<std::uint64_t>(alignment))) {
        refuse(
            "invalid general.alignment: expected a uint32 power of two of at most " +
            std::to_string(kMaxAlignment)
        );
    }
    return static_cast<std::uint64_t>(alignment);
}

std::uint64_t padded(std::uint64_t bytes, std::uint64_t alignment) {
    return (bytes + alignment - 1) / alignment * alignment;
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

} // namespace

GgufFacts check_gguf(Source& source, GgufKind kind) {
    GgufReader reader(source);
    const auto header = read_header(reader);
    auto values = read_values(reader, header.values);
    const auto alignment = alignment_of(values);
    if (kind == GgufKind::Model) {
        check_gguf_values(values);
    } else if (kind == GgufKind::Projector) {
        check_projector_values(values);
    }

    GgufFacts facts;
    GgufTensors tensors;
    std::uint64_t offset = 0; // offset where the next tensor's data must begin
    std::uint64_t end = 0;    // end of the last tensor's data
    for (std::uint64_t i = 0; i < header.tensors; ++i) {
        auto tensor = read_tensor(reader, offset);
        facts.weights += tensor.bytes;
        end = offset + tensor.bytes;
        if (end > source.size()) {
            refuse("tensor '" + tensor.name + "' extends beyond the end of the file; copy the file again");
        }
        offset = padded(end, alignment);
        const auto name = tensor.name;
        if (!tensors.emplace(name, std::move(tensor)).second) {
            refuse("duplicate tensor '" + name + "'; convert the model again");
        }
    }
    const auto data = padded(reader.position(), alignment);
    if (data > source.size() || end > source.size() - data) {
        refuse(
            "the file is cut short: " + std::to_string(source.size()) + " bytes; expected " +
            std::to_string(data + end) + "; copy the file again"
        );
    }
    if (header.tensors == 0) {
        refuse("the file contains no tensors; convert the model again");
    }
    check_gguf_tensors(tensors);
    if (kind == GgufKind::Projector) {
        check_projector_tensors(values, tensors);
    }
    facts.data = data;
    if (kind != GgufKind::Projector) {
        facts.tensors = std::move(tensors);
    }
    if (kind == GgufKind::Adapter) {
        facts.values = std::move(values);
        return facts;
    }
    facts.architecture = values.find("general.architecture")->second.text;
    facts.trained_context =
        static_cast<std::uint32_t>(gguf_number(values, facts.architecture + ".context_length", 0));
    facts.vocabulary = bytes_of_vocabulary(values);
    facts.causal = gguf_number(values, facts.architecture + ".attention.causal", 1) != 0;
    facts.data_aligned = data % kMapAlignment == 0 && alignment % kMapAlignment == 0;
    return facts;
}

} // namespace sotto::llama
