// Validates the header of a GGUF file: keys, values and the layout of the tensors.
#include "gguf/header.hpp"

#include "abi/error.hpp"

#include <algorithm>
#include <bit>
#include <ggml.h>
#include <gguf.h>

namespace sotto::gguf {
namespace {

// Limits far above real models, and low enough to bound memory and time.
constexpr std::uint64_t kMaxEntries = 1 << 20;
constexpr std::uint64_t kMaxKeyBytes = 1 << 16;
constexpr std::uint64_t kMaxTextBytes = 1 << 26;
constexpr std::uint64_t kMaxElements = 1 << 30;
constexpr std::uint64_t kMaxAlignment = 1 << 20;

[[noreturn]] void refuse(const std::string& reason) {
    throw Error(SOTTO_ERROR_MODEL, reason);
}

struct Counts {
    std::uint64_t tensors = 0;
    std::uint64_t values = 0;
};

Counts read_counts(Reader& reader) {
    constexpr std::uint32_t kMagic = 0x46554747; // "GGUF"
    if (reader.left() < 24 || reader.number<std::uint32_t>() != kMagic) {
        refuse("the file is not a GGUF file");
    }
    const auto version = reader.number<std::uint32_t>();
    if (version < 2 || version > 3) {
        refuse(invalid("GGUF version", std::to_string(version), "2 or 3; convert the model again"));
    }
    Counts counts;
    counts.tensors = reader.number<std::uint64_t>();
    counts.values = reader.number<std::uint64_t>();
    if (counts.tensors > kMaxEntries || counts.values > kMaxEntries) {
        refuse(
            "invalid header of " + std::to_string(counts.tensors) + " tensors and " +
            std::to_string(counts.values) + " values: expected at most " + std::to_string(kMaxEntries) +
            " of each"
        );
    }
    return counts;
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

double read_number(Reader& reader, std::uint32_t type) {
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

void read_elements(Reader& reader, const std::string& key, const StringsReader& strings, Value& value) {
    const bool texts = value.type == GGUF_TYPE_STRING;
    const auto each = texts ? sizeof(std::uint64_t) : size_of_type(value.type);
    if (each == 0) {
        refuse(key + ": unknown type " + std::to_string(value.type));
    }
    if (value.count > kMaxElements || value.count > reader.left() / each) {
        refuse(key + ": " + std::to_string(value.count) + " elements do not fit into the file");
    }
    if (!texts) {
        const auto kept = std::min<std::uint64_t>(value.count, kKeptNumbers);
        for (std::uint64_t i = 0; i < kept; ++i) {
            value.numbers.push_back(read_number(reader, value.type));
        }
        reader.skip((value.count - kept) * each);
    } else if (!strings || !strings(reader, key, value)) {
        for (std::uint64_t i = 0; i < value.count; ++i) {
            reader.skip(read_string_size(reader, key, i, kMaxTextBytes));
        }
    }
}

Value read_value(Reader& reader, const std::string& key, const StringsReader& strings) {
    Value value;
    value.type = reader.number<std::uint32_t>();
    if (value.type == GGUF_TYPE_ARRAY) {
        value.is_array = true;
        value.type = reader.number<std::uint32_t>();
        value.count = reader.number<std::uint64_t>();
        read_elements(reader, key, strings, value);
    } else if (value.type == GGUF_TYPE_STRING) {
        value.text = reader.text(kMaxTextBytes);
    } else if (size_of_type(value.type) != 0) {
        value.numbers.push_back(read_number(reader, value.type));
    } else {
        refuse(key + ": unknown type " + std::to_string(value.type));
    }
    return value;
}

Values read_values(Reader& reader, std::uint64_t count, const StringsReader& strings) {
    Values values;
    for (std::uint64_t i = 0; i < count; ++i) {
        auto key = reader.text(kMaxKeyBytes);
        if (key.empty() || key.find('\0') != std::string::npos) {
            refuse("invalid name of metadata value " + std::to_string(i) + ": expected text without NUL");
        }
        auto value = read_value(reader, key, strings);
        if (!values.emplace(key, std::move(value)).second) {
            refuse("duplicate " + key + ": expected one value");
        }
    }
    return values;
}

Tensor read_tensor(Reader& reader, std::uint64_t expected_offset) {
    Tensor tensor;
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

std::uint64_t alignment_of(const Values& values) {
    const auto found = values.find("general.alignment");
    if (found == values.end()) {
        return GGUF_DEFAULT_ALIGNMENT;
    }
    const auto alignment = number_of(values, "general.alignment", 0);
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

} // namespace

std::uint64_t
read_string_size(Reader& reader, const std::string& key, std::uint64_t index, std::uint64_t max_bytes) {
    const auto size = reader.number<std::uint64_t>();
    if (size > max_bytes) {
        refuse(
            "invalid " + key + "[" + std::to_string(index) + "] of " + std::to_string(size) +
            " bytes: expected at most " + std::to_string(max_bytes) + "; convert the model again"
        );
    }
    return size;
}

double number_of(const Values& values, std::string_view key, double otherwise) {
    const auto found = values.find(key);
    return found == values.end() || found->second.numbers.empty() ? otherwise : found->second.numbers.front();
}

Header read_header(Reader& reader, const StringsReader& strings) {
    const auto counts = read_counts(reader);
    Header header;
    header.tensors = counts.tensors;
    header.values = read_values(reader, counts.values, strings);
    header.alignment = alignment_of(header.values);
    return header;
}

Layout read_tensors(Reader& reader, const Header& header) {
    Layout layout;
    std::uint64_t offset = 0; // offset where the next tensor's data must begin
    std::uint64_t end = 0;    // end of the last tensor's data
    for (std::uint64_t i = 0; i < header.tensors; ++i) {
        auto tensor = read_tensor(reader, offset);
        layout.bytes += tensor.bytes;
        end = offset + tensor.bytes;
        if (end > reader.size()) {
            refuse("tensor '" + tensor.name + "' extends beyond the end of the file; copy the file again");
        }
        offset = padded(end, header.alignment);
        const auto name = tensor.name;
        if (!layout.tensors.emplace(name, std::move(tensor)).second) {
            refuse("duplicate tensor '" + name + "'; convert the model again");
        }
    }
    layout.data = padded(reader.position(), header.alignment);
    if (layout.data > reader.size() || end > reader.size() - layout.data) {
        refuse(
            "the file is cut short: " + std::to_string(reader.size()) + " bytes; expected " +
            std::to_string(layout.data + end) + "; copy the file again"
        );
    }
    if (header.tensors == 0) {
        refuse("the file contains no tensors; convert the model again");
    }
    return layout;
}

} // namespace sotto::gguf
