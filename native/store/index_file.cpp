// Files of an index. All numbers are little-endian.
//
//   header   128 bytes, see Header
//   records  16 bytes for each element: label, level, whether it is removed, zeros
//   links    of the lowest layer, 2 m ids for each element; then of the layers above, m ids for each layer
//   vectors  encoded, from a multiple of 64 bytes on
#define XXH_INLINE_ALL
#include <hash/xxhash/xxhash.h>

#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "platform/file.hpp"
#include "platform/mapping.hpp"
#include "store/index_parts.hpp"

namespace sotto::store {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::array<char, 8> kMagic = {'S', 'O', 'T', 'T', 'O', '\0', 'V', 'I'};
constexpr std::uint32_t kVersion = 1;

struct Header {
    std::array<char, 8> magic = kMagic;
    std::uint32_t version = kVersion;
    std::uint32_t dim = 0;
    std::uint32_t storage = 0;
    std::uint32_t m = 0;
    std::uint32_t ef_construction = 0;
    std::uint32_t is_built = 0;
    std::uint64_t seed = 0;
    std::uint64_t max_elements = 0;
    std::uint32_t count = 0;
    std::uint32_t linked = 0;
    std::uint32_t entry = 0;
    std::uint32_t upper_rows = 0;
    std::uint64_t checksum = 0; // XXH3 of the bytes after the header, then of the header with 0 here
    std::array<std::uint8_t, 56> reserved{};
};
static_assert(sizeof(Header) == 128);

struct FileRecord {
    std::uint64_t label = 0;
    std::uint8_t level = 0;
    std::uint8_t removed = 0;
    std::array<std::uint8_t, 6> reserved{};
};
static_assert(sizeof(FileRecord) == 16);

// Offsets of the parts of a file.
struct Layout {
    std::uint64_t links = 0;
    std::uint64_t vectors = 0;
    std::uint64_t end = 0;

    Layout(const Header& header, std::uint64_t stride) {
        const std::uint64_t rows = std::uint64_t{2} * header.count + header.upper_rows;
        links = sizeof(Header) + std::uint64_t{header.count} * sizeof(FileRecord);
        vectors = (links + rows * header.m * sizeof(ElementId) + kCacheLine - 1) / kCacheLine * kCacheLine;
        end = vectors + header.count * stride;
    }
};

class Checksum {
public:
    Checksum() noexcept { XXH3_64bits_reset(&state_); }
    void add(const void* bytes, std::size_t size) noexcept { XXH3_64bits_update(&state_, bytes, size); }
    std::uint64_t of(Header header) noexcept {
        header.checksum = 0;
        add(&header, sizeof header);
        return XXH3_64bits_digest(&state_);
    }

private:
    XXH3_state_t state_;
};

constexpr std::size_t kBuffer = std::size_t{1} << 20;

// Writes a file through a buffer; its header, which holds the checksum of the rest, last.
class Writer {
public:
    explicit Writer(const PathArgument& path) : file_(path) {
        buffer_.reserve(kBuffer);
        file_.append(std::string(sizeof(Header), '\0'));
    }

    void put(const void* bytes, std::size_t size) {
        if (buffer_.size() + size > kBuffer) {
            flush();
        }
        buffer_.append(static_cast<const char*>(bytes), size);
    }
    void pad_to(std::uint64_t offset) {
        const std::string zeros(offset - offset_ - buffer_.size(), '\0');
        put(zeros.data(), zeros.size());
    }
    void finish(Header header) {
        flush();
        header.checksum = checksum_.of(header);
        file_.overwrite(0, {reinterpret_cast<const char*>(&header), sizeof header});
        file_.commit();
    }

private:
    void flush() {
        checksum_.add(buffer_.data(), buffer_.size());
        file_.append(buffer_);
        offset_ += buffer_.size();
        buffer_.clear();
    }

    FileReplacement file_;
    std::string buffer_;
    std::uint64_t offset_ = sizeof(Header);
    Checksum checksum_;
};

void put_links(Writer& writer, const Links& links) {
    for (std::uint32_t slot = 0; slot < links.capacity(); ++slot) {
        const ElementId id = links.get(slot);
        writer.put(&id, sizeof id);
    }
}

Header header_of(const VectorIndex::Parts& parts) {
    Header header;
    header.dim = parts.options.dim;
    header.storage = static_cast<std::uint32_t>(parts.options.storage);
    header.m = parts.options.m;
    header.ef_construction = parts.options.ef_construction;
    header.is_built = parts.is_built ? 1 : 0;
    header.seed = parts.options.seed;
    header.max_elements = parts.options.max_elements;
    header.count = parts.elements.count();
    header.linked = parts.linked;
    header.entry = parts.graph.entry();
    for (ElementId id = 0; id < header.count; ++id) {
        header.upper_rows += parts.elements.record(id).level;
    }
    return header;
}

void write_index(const VectorIndex::Parts& parts, const PathArgument& path) {
    const Header header = header_of(parts);
    const auto& elements = parts.elements;
    Writer writer(path);
    for (ElementId id = 0; id < header.count; ++id) {
        FileRecord record;
        record.label = elements.record(id).label;
        record.level = elements.record(id).level;
        record.removed = elements.is_removed(id) ? 1 : 0;
        writer.put(&record, sizeof record);
    }
    for (ElementId id = 0; id < header.count; ++id) {
        put_links(writer, elements.links(id, 0));
    }
    for (ElementId id = 0; id < header.count; ++id) {
        for (unsigned layer = 1; layer <= elements.record(id).level; ++layer) {
            put_links(writer, elements.links(id, layer));
        }
    }
    const std::size_t stride = elements.codec().stride();
    writer.pad_to(Layout(header, stride).vectors);
    for (ElementId id = 0; id < header.count; ++id) {
        writer.put(elements.vector(id), stride);
    }
    writer.finish(header);
}

// Reads and validates a file. The state is used only if everything is valid.
class Reader {
public:
    explicit Reader(const PathArgument& path) : path_(path), file_(open_file(path)) {}

    Header read_header() {
        Header header;
        if (file_.size() < sizeof header || file_.read(0, &header, sizeof header)) {
            refuse("it is shorter than an index");
        }
        if (header.magic != kMagic) {
            refuse("it does not begin like an index");
        }
        if (header.version != kVersion) {
            refuse(
                "it has version " + std::to_string(header.version) + ", and this library reads version " +
                std::to_string(kVersion)
            );
        }
        return header;
    }

    IndexOptions options_of(const Header& header) const {
        IndexOptions options;
        options.dim = header.dim;
        options.storage = static_cast<VectorStorage>(header.storage);
        options.m = header.m;
        options.ef_construction = header.ef_construction;
        options.seed = header.seed;
        options.max_elements = header.max_elements;
        return options;
    }

    void check_size(const Header& header, std::size_t stride) {
        if (header.count > kMaxElements || header.upper_rows > std::uint64_t{kMaxLevel} * header.count) {
            refuse("it is damaged: its number of vectors is above the maximum");
        }
        if (const auto expected = Layout(header, stride).end; file_.size() != expected) {
            refuse(
                "it has " + std::to_string(file_.size()) + " bytes instead of " + std::to_string(expected) +
                ", so it is truncated or damaged"
            );
        }
    }

    // Reads the next bytes.
    void get(void* out, std::size_t size) {
        auto* bytes = static_cast<char*>(out);
        while (size > 0) {
            if (taken_ == buffer_.size()) {
                fill();
            }
            const std::size_t count = std::min(size, buffer_.size() - taken_);
            std::memcpy(bytes, buffer_.data() + taken_, count);
            taken_ += count;
            bytes += count;
            size -= count;
        }
    }
    void skip_to(std::uint64_t offset) {
        std::string skipped(offset - (offset_ - buffer_.size() + taken_), '\0');
        get(skipped.data(), skipped.size());
    }
    Mapping map() const {
        std::error_code failed;
        Mapping mapping(file_, failed);
        if (failed || mapping.size() != file_.size()) {
            refuse("the system cannot map it: " + failed.message());
        }
        return mapping;
    }
    // Takes the bytes after those that were read from a mapping.
    void skip(const std::byte* bytes, std::size_t size) noexcept { checksum_.add(bytes, size); }
    void check_sum(const Header& header) {
        if (checksum_.of(header) != header.checksum) {
            refuse("it is damaged: its checksum is wrong");
        }
    }
    // Ends reads ahead at `end`: the bytes from there on are mapped, or the file has no more.
    void limit(std::uint64_t end) noexcept { end_ = end; }

    [[noreturn]] void refuse(const std::string& reason) const {
        throw Error(
            SOTTO_ERROR_STATE,
            invalid(path_.parameter, path_.value.substr(0, 200), "a file that save() of an index wrote") +
                ", but " + reason + "; save the index again"
        );
    }

private:
    void fill() {
        buffer_.resize(std::min<std::uint64_t>(kBuffer, end_ - offset_));
        taken_ = 0;
        if (buffer_.empty() || file_.read(offset_, buffer_.data(), buffer_.size())) {
            refuse("it ends too early, or the system cannot read it");
        }
        checksum_.add(buffer_.data(), buffer_.size());
        offset_ += buffer_.size();
    }

    PathArgument path_;
    File file_;
    std::string buffer_;
    std::size_t taken_ = 0;
    std::uint64_t offset_ = sizeof(Header); // of the bytes after the buffer
    std::uint64_t end_ = 0;
    Checksum checksum_;
};

void read_records(Reader& reader, const Header& header, VectorIndex::Parts& parts) {
    std::uint64_t rows = 0;
    for (ElementId id = 0; id < header.count; ++id) {
        FileRecord record;
        reader.get(&record, sizeof record);
        rows += record.level;
        if (record.level > kMaxLevel || record.removed > 1 || rows > header.upper_rows) {
            reader.refuse("it is damaged: vector " + std::to_string(id) + " has layers that do not exist");
        }
        parts.elements.record(id).label = record.label;
        parts.elements.record(id).removed = record.removed;
        parts.elements.set_level(id, record.level);
        if (record.removed != 0) {
            continue;
        }
        if (parts.labels.find(record.label) != kNoElement) {
            reader.refuse("it is damaged: it has label " + std::to_string(record.label) + " twice");
        }
        parts.labels.set(record.label, id);
        ++parts.live;
    }
    if (rows != header.upper_rows) {
        reader.refuse("it is damaged: its layers do not add up");
    }
}

// Links lead to linked elements that are in the same layer.
void read_links(
    Reader& reader, const Header& header, const Elements& elements, ElementId id, unsigned layer
) {
    const Links links = elements.links(id, layer);
    bool ended = false;
    for (std::uint32_t slot = 0; slot < links.capacity(); ++slot) {
        ElementId to;
        reader.get(&to, sizeof to);
        const bool is_end = to == kNoElement;
        if (!is_end && (ended || to >= header.linked || to == id || elements.record(to).level < layer)) {
            reader.refuse("it is damaged: vector " + std::to_string(id) + " has a link that leads nowhere");
        }
        ended = ended || is_end;
        links.set(slot, to);
    }
}

void read_all_links(Reader& reader, const Header& header, const Elements& elements) {
    for (ElementId id = 0; id < header.count; ++id) {
        read_links(reader, header, elements, id, 0);
    }
    for (ElementId id = 0; id < header.count; ++id) {
        for (unsigned layer = 1; layer <= elements.record(id).level; ++layer) {
            read_links(reader, header, elements, id, layer);
        }
    }
}

void check_graph(const Reader& reader, const Header& header) {
    const bool has_entry = header.entry != kNoElement;
    if (header.is_built > 1 || header.linked > header.count ||
        (header.is_built == 1 && header.linked != header.count) ||
        (has_entry && header.entry >= header.linked)) {
        reader.refuse("it is damaged: its graph does not fit its vectors");
    }
}

} // namespace

void VectorIndex::save(const PathArgument& path) const {
    const std::lock_guard lock(parts_->writing);
    write_index(*parts_, path);
}

std::unique_ptr<VectorIndex> VectorIndex::load(const PathArgument& path, bool mapped) {
    Reader reader(path);
    const Header header = reader.read_header();
    std::unique_ptr<VectorIndex> index;
    try {
        index = std::make_unique<VectorIndex>(reader.options_of(header));
    } catch (const Error& error) {
        reader.refuse(std::string("it is damaged: ") + error.what());
    }
    auto& parts = *index->parts_;
    auto& elements = parts.elements;
    const std::size_t stride = elements.codec().stride();
    reader.check_size(header, stride);
    check_graph(reader, header);
    const Layout layout(header, stride);
    reader.limit(mapped ? layout.vectors : layout.end);
    if (mapped && header.count > 0) {
        parts.mapping = reader.map();
        elements.adopt(parts.mapping.data() + layout.vectors, header.count);
    } else {
        elements.adopt(nullptr, header.count);
    }
    parts.labels.reserve(header.count);
    read_records(reader, header, parts);
    read_all_links(reader, header, elements);
    reader.skip_to(layout.vectors);
    if (parts.mapping.size() > 0) {
        reader.skip(elements.vector(0), layout.end - layout.vectors);
    }
    for (ElementId id = 0; id < header.count; ++id) {
        if (parts.mapping.size() == 0) {
            reader.get(elements.vector(id), stride);
        }
        if (!elements.codec().is_finite(elements.vector(id))) {
            reader.refuse("it is damaged: vector " + std::to_string(id) + " has values that are not finite");
        }
    }
    reader.check_sum(header);
    parts.graph.set_entry(header.entry);
    parts.linked = header.linked;
    parts.is_built = header.is_built == 1;
    return index;
}

} // namespace sotto::store
