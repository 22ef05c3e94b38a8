// Field numbers: onnx.proto of ONNX 1.17. Wire format: protobuf.dev/programming-guides/encoding.
#include "backends/onnx/model_check.hpp"

#include <charconv>
#include <cstdint>
#include <string>
#include <vector>

#include "abi/error.hpp"

namespace sotto::onnx {
namespace {

constexpr int kMaxDepth = 32; // of graphs inside of nodes

[[noreturn]] void refuse(const std::string& what) {
    throw Error(SOTTO_ERROR_MODEL, "not an ONNX model, or damaged: " + what);
}

struct Field {
    std::uint32_t number = 0;
    std::uint64_t value = 0; // of an integer
    std::string_view bytes;  // of anything that has a length
    bool has_length = false;
};

// The fields of one protobuf message.
class Message {
public:
    explicit Message(std::string_view bytes) : rest_(bytes) {}

    // Reads the next field. Returns false at the end; refuses what is not well-formed.
    bool next(Field& field) {
        if (rest_.empty()) {
            return false;
        }
        constexpr std::uint64_t kMaxNumber = (1 << 29) - 1;
        const auto tag = varint();
        if (tag >> 3 == 0 || tag >> 3 > kMaxNumber) {
            refuse("a field without a number");
        }
        field = {static_cast<std::uint32_t>(tag >> 3), 0, {}, false};
        switch (tag & 7) {
        case 0:
            field.value = varint();
            return true;
        case 1:
            take(8);
            return true;
        case 2:
            field.bytes = take(varint());
            field.has_length = true;
            return true;
        case 5:
            take(4);
            return true;
        default:
            refuse("a field of an unknown wire type");
        }
    }

private:
    std::uint64_t varint() {
        constexpr int kMaxBits = 64;
        std::uint64_t value = 0;
        for (int shift = 0; shift < kMaxBits; shift += 7) {
            const auto byte = static_cast<std::uint8_t>(take(1).front());
            value |= std::uint64_t{byte & 0x7fU} << shift;
            if ((byte & 0x80U) == 0) {
                return value;
            }
        }
        refuse("an integer of more than 64 bits");
    }

    std::string_view take(std::uint64_t bytes) {
        if (bytes > rest_.size()) {
            refuse("the file ends within a field; it may be truncated");
        }
        const auto taken = rest_.substr(0, static_cast<std::size_t>(bytes));
        rest_.remove_prefix(static_cast<std::size_t>(bytes));
        return taken;
    }

    std::string_view rest_;
};

void check_tensor(std::string_view bytes) {
    constexpr std::uint32_t kExternalData = 13;
    constexpr std::uint32_t kDataLocation = 14; // 1: outside of the file
    Message tensor(bytes);
    for (Field field; tensor.next(field);) {
        if (field.number == kExternalData || (field.number == kDataLocation && field.value == 1)) {
            throw Error(
                SOTTO_ERROR_MODEL,
                "the model's weights are in a second file (external data): save it as one file, with "
                "onnx.save_model(model, path, save_as_external_data=False)"
            );
        }
    }
}

void check_graph(std::string_view bytes, int depth, bool whole, ModelFacts* facts);

void check_sparse(std::string_view bytes) {
    Message sparse(bytes);
    for (Field field; sparse.next(field);) {
        if (field.has_length && (field.number == 1 || field.number == 2)) { // values, indices
            check_tensor(field.bytes);
        }
    }
}

void check_attribute(std::string_view bytes, int depth) {
    Message attribute(bytes);
    for (Field field; attribute.next(field);) {
        if (!field.has_length) {
            continue;
        }
        if (field.number == 5 || field.number == 10) { // t, tensors
            check_tensor(field.bytes);
        } else if (field.number == 6 || field.number == 11) { // g, graphs
            check_graph(field.bytes, depth + 1, false, nullptr);
        } else if (field.number == 22 || field.number == 23) { // sparse_tensor, sparse_tensors
            check_sparse(field.bytes);
        }
    }
}

void check_node(std::string_view bytes, int depth) {
    constexpr std::uint32_t kAttribute = 5;
    Message node(bytes);
    for (Field field; node.next(field);) {
        if (field.number == kAttribute && field.has_length) {
            check_attribute(field.bytes, depth);
        }
    }
}

// Returns the last part of a message that is the field `number`; empty: it has none.
std::string_view part_of(std::string_view bytes, std::uint32_t number) {
    std::string_view found;
    Message message(bytes);
    for (Field field; message.next(field);) {
        found = field.number == number && field.has_length ? field.bytes : found;
    }
    return found;
}

// Reads the size of an input of shape [1, 3, height, width].
void read_input(std::string_view bytes, ModelFacts& facts) {
    constexpr std::size_t kDims = 4;
    constexpr std::uint64_t kMaxSide = 16'384;
    const auto shape = part_of(part_of(part_of(bytes, 2), 1), 2); // type, tensor_type, shape
    std::vector<std::uint32_t> sides;
    Message message(shape);
    for (Field field; message.next(field) && sides.size() <= kDims;) {
        Message dim(field.bytes);
        std::uint32_t side = 0;
        for (Field value; dim.next(value);) {
            side =
                value.number == 1 && value.value <= kMaxSide ? static_cast<std::uint32_t>(value.value) : side;
        }
        sides.push_back(side);
    }
    if (sides.size() == kDims && sides[1] == 3) {
        facts.height = sides[2];
        facts.width = sides[3];
    }
}

void read_metadata(std::string_view bytes, ModelFacts& facts) {
    if (part_of(bytes, 1) == "sotto.size") {
        const auto value = part_of(bytes, 2);
        std::from_chars(value.data(), value.data() + value.size(), facts.size);
    }
}

// `whole`: the model's own graph, which has nodes, inputs and outputs. `facts`: to fill in; null of other
// graphs.
void check_graph(std::string_view bytes, int depth, bool whole, ModelFacts* facts) {
    if (depth > kMaxDepth) {
        refuse("graphs nested more than 32 deep");
    }
    std::size_t nodes = 0;
    std::size_t inputs = 0;
    std::size_t outputs = 0;
    Message graph(bytes);
    for (Field field; graph.next(field);) {
        if (!field.has_length) {
            continue;
        }
        if (field.number == 1) {
            check_node(field.bytes, depth);
            ++nodes;
        } else if (field.number == 5) { // initializer
            check_tensor(field.bytes);
        } else if (field.number == 15) { // sparse_initializer
            check_sparse(field.bytes);
        } else if (field.number == 11) {
            ++inputs;
            if (facts != nullptr) {
                read_input(field.bytes, *facts);
            }
        } else if (field.number == 12) {
            ++outputs;
        }
    }
    if (whole && (nodes == 0 || inputs == 0 || outputs == 0)) {
        refuse("its graph has no nodes, inputs or outputs");
    }
}

void check_function(std::string_view bytes) {
    constexpr std::uint32_t kNode = 7;
    Message function(bytes);
    for (Field field; function.next(field);) {
        if (field.number == kNode && field.has_length) {
            check_node(field.bytes, 0);
        }
    }
}

} // namespace

ModelFacts check_model(std::string_view file) {
    constexpr std::uint64_t kMinVersion = 3; // ONNX 1.0
    constexpr std::uint64_t kMaxVersion = 64;
    std::uint64_t version = 0;
    bool has_graph = false;
    ModelFacts facts;
    Message model(file);
    for (Field field; model.next(field);) {
        if (field.number == 1) {
            version = field.value;
        } else if (field.number == 7 && field.has_length) {
            check_graph(field.bytes, 0, true, &facts);
            has_graph = true;
        } else if (field.number == 14 && field.has_length) {
            read_metadata(field.bytes, facts);
        } else if (field.number == 25 && field.has_length) {
            check_function(field.bytes);
        }
    }
    if (version < kMinVersion || version > kMaxVersion) {
        refuse("it states no ir_version");
    }
    if (!has_graph) {
        refuse("it has no graph");
    }
    return facts;
}

} // namespace sotto::onnx
