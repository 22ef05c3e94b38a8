#include "backends/diffusion/file/safetensors_check.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>

#include "backends/diffusion/file/tensor_check.hpp"

namespace sotto::diffusion {
namespace {

using Sax = nlohmann::json_sax<nlohmann::json>;

constexpr std::size_t kLengthBytes = 8;     // before the header
constexpr std::size_t kMaxDepth = 8;        // of the header's JSON, where 3 is used
constexpr std::size_t kMaxValues = 2 << 20; // of the header's JSON; 12 for each tensor

// A type that stable-diffusion.cpp converts, or skips.
struct Type {
    std::string_view name;
    std::uint64_t bytes;
};
constexpr std::array<Type, 9> kTypes = {{
    {"F64", 8},
    {"F32", 4},
    {"F16", 2},
    {"BF16", 2},
    {"F8_E4M3", 1},
    {"F8_E5M2", 1},
    {"I64", 8},
    {"I32", 4},
    {"U8", 1},
}};

struct Entry {
    TensorFact fact;
    std::uint64_t begin = 0; // of the tensor's data, relative to the end of the header
    std::uint64_t end = 0;
};

// Collects the tensors from the events of a JSON parser, so that a hostile header takes no more memory than
// its text.
class HeaderReader : public Sax {
public:
    std::vector<Entry> take() { return std::move(entries_); }

    bool null() override { return other(); }
    bool boolean(bool) override { return other(); }
    bool number_integer(number_integer_t) override { return other(); } // negative
    bool number_float(number_float_t, const string_t&) override { return other(); }
    bool binary(binary_t&) override { return other(); }

    bool number_unsigned(number_unsigned_t value) override {
        if (field_ == Field::Shape && depth_ == 3) {
            take_extent(value);
        } else if (field_ == Field::Offsets && depth_ == 3) {
            take_offset(value);
        } else {
            return other();
        }
        return count();
    }

    bool string(string_t& value) override {
        if (field_ != Field::Type || depth_ != 2) {
            return other();
        }
        entry_.fact.type = value.substr(0, kMaxShown);
        return count();
    }

    bool key(string_t& name) override {
        if (depth_ == 1) {
            begin_tensor(name);
        } else if (depth_ == 2 && !in_metadata_) {
            begin_field(name);
        }
        return true;
    }

    bool start_object(std::size_t) override {
        if (depth_ > 1 && field_ != Field::Other) {
            wrong_field();
        }
        return open();
    }

    bool start_array(std::size_t) override {
        const bool expected = depth_ == 2 && (field_ == Field::Shape || field_ == Field::Offsets);
        if (depth_ < 2 || (field_ != Field::Other && !expected)) {
            wrong_field();
        }
        return open();
    }

    bool end_object() override {
        if (depth_ == 2 && !in_metadata_) {
            end_tensor();
        }
        --depth_;
        return true;
    }

    bool end_array() override {
        --depth_;
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
        refuse("header is not valid JSON at byte " + std::to_string(position));
    }

private:
    enum class Field { Other, Type, Shape, Offsets };

    static constexpr std::size_t kMaxShown = 32; // bytes of an unknown type in a message

    // A value that must not be one of a tensor's known fields.
    bool other() {
        if (depth_ < 2 || field_ != Field::Other) {
            wrong_field();
        }
        return count();
    }

    bool count() {
        if (++values_ > kMaxValues) {
            refuse("header of more than " + std::to_string(kMaxValues) + " values");
        }
        return true;
    }

    bool open() {
        if (++depth_ > kMaxDepth) {
            refuse("header with values nested more than " + std::to_string(kMaxDepth) + " deep");
        }
        return count();
    }

    [[noreturn]] void wrong_field() const {
        if (depth_ < 2) {
            refuse("header is not an object of tensors");
        }
        refuse_tensor(
            entry_.fact.name, "invalid dtype, shape or data_offsets; expected text, extents and two offsets"
        );
    }

    void begin_tensor(const std::string& name) {
        in_metadata_ = name == "__metadata__";
        field_ = Field::Other;
        seen_.fill(false);
        offsets_ = 0;
        entry_ = {};
        entry_.fact.name = name.substr(0, kMaxKept);
        if (!in_metadata_) {
            check_name(entry_.fact.name);
        }
        if (!names_.insert(entry_.fact.name).second) {
            refuse_tensor(name, "duplicate");
        }
        if (entries_.size() == kMaxTensors) {
            refuse("more than " + std::to_string(kMaxTensors) + " tensors");
        }
    }

    void begin_field(const std::string& name) {
        field_ = name == "dtype"          ? Field::Type
                 : name == "shape"        ? Field::Shape
                 : name == "data_offsets" ? Field::Offsets
                                          : Field::Other;
        auto& seen = seen_[static_cast<std::size_t>(field_)];
        if (seen && field_ != Field::Other) {
            refuse_tensor(entry_.fact.name, "duplicate " + name);
        }
        seen = true;
    }

    void take_extent(std::uint64_t value) {
        constexpr std::size_t kMaxKeptExtents = 16;
        constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        if (value > kMax || entry_.fact.shape.size() == kMaxKeptExtents) {
            wrong_field();
        }
        entry_.fact.shape.push_back(static_cast<std::int64_t>(value));
    }

    void take_offset(std::uint64_t value) {
        if (offsets_ == 2) {
            wrong_field();
        }
        (offsets_ == 0 ? entry_.begin : entry_.end) = value;
        ++offsets_;
    }

    void end_tensor() {
        auto& fact = entry_.fact;
        const auto seen = [&](Field field) { return seen_[static_cast<std::size_t>(field)]; };
        if (!seen(Field::Type) || !seen(Field::Shape) || offsets_ != 2) {
            wrong_field();
        }
        const auto type = std::find_if(kTypes.begin(), kTypes.end(), [&](const Type& one) {
            return one.name == fact.type;
        });
        if (type == kTypes.end()) {
            refuse_tensor(
                fact.name,
                "unsupported type '" + fact.type +
                    "'; expected F16, BF16, F32, F64, F8_E4M3 or F8_E5M2; use another file of the model"
            );
        }
        const auto elements = check_shape(fact);
        check_type(fact, elements);
        fact.bytes = elements * type->bytes;
        if (entry_.end < entry_.begin || entry_.end - entry_.begin != fact.bytes) {
            refuse_tensor(
                fact.name,
                "data from " + std::to_string(entry_.begin) + " to " + std::to_string(entry_.end) +
                    "; expected " + std::to_string(fact.bytes) + " bytes"
            );
        }
        entries_.push_back(std::move(entry_));
    }

    static constexpr std::size_t kMaxKept = 256; // bytes of a name, for a message

    std::vector<Entry> entries_;
    std::unordered_set<std::string> names_;
    Entry entry_;
    Field field_ = Field::Other;
    std::array<bool, 4> seen_{}; // by Field
    std::size_t offsets_ = 0;
    bool in_metadata_ = false;
    std::size_t depth_ = 0;
    std::size_t values_ = 0;
};

std::uint64_t read_length(gguf::Source& source) {
    std::array<unsigned char, kLengthBytes> bytes{};
    source.read(0, bytes.data(), bytes.size());
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        length |= std::uint64_t{bytes[i]} << (8 * i);
    }
    const auto left = source.size() - kLengthBytes;
    if (length > kMaxHeaderBytes || length > left) {
        refuse(
            "header of " + std::to_string(length) + " bytes; expected at most " +
            std::to_string(std::min(left, kMaxHeaderBytes))
        );
    }
    return length;
}

// Checks that the data of the tensors fills the rest of the file, without gaps or overlaps.
void check_layout(std::vector<Entry>& entries, std::uint64_t data_bytes) {
    std::sort(entries.begin(), entries.end(), [](const Entry& left, const Entry& right) {
        return std::pair(left.begin, left.end) < std::pair(right.begin, right.end);
    });
    std::uint64_t end = 0;
    for (const auto& entry : entries) {
        if (entry.begin != end) {
            refuse_tensor(
                entry.fact.name,
                "data at " + std::to_string(entry.begin) + "; expected " + std::to_string(end) +
                    ", where the data before it ends"
            );
        }
        end = entry.end;
    }
    if (end != data_bytes) {
        refuse(
            std::to_string(data_bytes) + " bytes of data; expected " + std::to_string(end) +
            (end > data_bytes ? ", as the file is cut short" : "")
        );
    }
}

} // namespace

std::vector<TensorFact> check_safetensors(gguf::Source& source) {
    std::string header(static_cast<std::size_t>(read_length(source)), '\0');
    source.read(kLengthBytes, header.data(), header.size());
    HeaderReader reader;
    nlohmann::json::sax_parse(header, &reader);
    auto entries = reader.take();
    check_layout(entries, source.size() - kLengthBytes - header.size());
    std::vector<TensorFact> tensors;
    tensors.reserve(entries.size());
    for (auto& entry : entries) {
        tensors.push_back(std::move(entry.fact));
    }
    return tensors;
}

} // namespace sotto::diffusion
