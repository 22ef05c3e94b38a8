// PNG (ISO/IEC 15948), compressed by zlib.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string_view>

#include <zlib.h>

#include "image/encode.hpp"

namespace sotto::image {
namespace {

constexpr std::uint32_t kFilters = 5; // none, sub, up, average, Paeth
constexpr std::size_t kChunk = std::size_t{1} << 16;

void append_u32(std::string& text, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) {
        text.push_back(static_cast<char>(value >> shift & 0xff));
    }
}

void append_chunk(std::string& file, std::string_view kind, std::string_view data) {
    append_u32(file, static_cast<std::uint32_t>(data.size()));
    const auto begin = file.size();
    file.append(kind).append(data);
    const auto* bytes = reinterpret_cast<const Bytef*>(file.data() + begin);
    append_u32(file, static_cast<std::uint32_t>(crc32(0, bytes, static_cast<uInt>(file.size() - begin))));
}

int paeth(int left, int up, int corner) noexcept {
    const int to_left = std::abs(up - corner);
    const int to_up = std::abs(left - corner);
    const int to_corner = std::abs(left + up - 2 * corner);
    return to_left <= to_up && to_left <= to_corner ? left : to_up <= to_corner ? up : corner;
}

// Filters a row in all ways and keeps the one with the least sum of absolute differences: the heuristic of
// the PNG specification, section 12.7.
class RowFilter {
public:
    RowFilter(std::size_t bytes, std::uint32_t step) : step_(step), before_(bytes) {
        for (auto& row : rows_) {
            row.resize(bytes + 1);
        }
    }

    // Returns the filtered row with the filter's number in front.
    const std::vector<std::uint8_t>& filter(const std::uint8_t* row) {
        std::array<std::uint64_t, kFilters> sums{};
        for (std::size_t i = 0; i < before_.size(); ++i) {
            const int left = i < step_ ? 0 : row[i - step_];
            const int up = before_[i];
            const int corner = i < step_ ? 0 : before_[i - step_];
            const std::array<int, kFilters> guesses = {0, left, up, (left + up) / 2, paeth(left, up, corner)};
            for (std::uint32_t f = 0; f < kFilters; ++f) {
                const auto value = static_cast<std::uint8_t>(row[i] - guesses[f]);
                rows_[f][i + 1] = value;
                sums[f] += static_cast<std::uint64_t>(std::abs(static_cast<std::int8_t>(value)));
            }
        }
        std::copy(row, row + before_.size(), before_.begin());
        const auto best = static_cast<std::size_t>(std::min_element(sums.begin(), sums.end()) - sums.begin());
        rows_[best][0] = static_cast<std::uint8_t>(best);
        return rows_[best];
    }

private:
    std::size_t step_; // bytes per pixel
    std::vector<std::uint8_t> before_;
    std::array<std::vector<std::uint8_t>, kFilters> rows_;
};

// The compressed rows, as IDAT chunks.
class Deflater {
public:
    explicit Deflater(std::string& file) : file_(file) {
        constexpr int kLevel = 4;
        constexpr int kMemory = 8;
        const int made = deflateInit2(&stream_, kLevel, Z_DEFLATED, MAX_WBITS, kMemory, Z_FILTERED);
        if (made != Z_OK) {
            throw std::bad_alloc();
        }
        start_chunk();
    }
    ~Deflater() { deflateEnd(&stream_); }
    Deflater(const Deflater&) = delete;
    Deflater& operator=(const Deflater&) = delete;

    void write(const std::vector<std::uint8_t>& row) { deflate_all(row.data(), row.size(), Z_NO_FLUSH); }
    void end() {
        deflate_all(nullptr, 0, Z_FINISH);
        flush();
    }

private:
    void deflate_all(const std::uint8_t* data, std::size_t size, int mode) {
        stream_.next_in = const_cast<Bytef*>(data); // only read
        stream_.avail_in = static_cast<uInt>(size);
        int status = Z_OK;
        do {
            status = deflate(&stream_, mode);
            if (status == Z_STREAM_ERROR) {
                throw std::logic_error("zlib refused its own stream");
            }
            if (stream_.avail_out == 0) {
                flush();
            }
        } while (mode == Z_FINISH ? status != Z_STREAM_END : stream_.avail_in > 0);
    }
    void flush() {
        append_chunk(
            file_, "IDAT", {reinterpret_cast<const char*>(chunk_.data()), kChunk - stream_.avail_out}
        );
        start_chunk();
    }
    void start_chunk() noexcept {
        stream_.next_out = chunk_.data();
        stream_.avail_out = static_cast<uInt>(kChunk);
    }

    std::string& file_;
    z_stream stream_{};
    std::vector<Bytef> chunk_ = std::vector<Bytef>(kChunk);
};

char colour_type(std::uint32_t channels) noexcept {
    constexpr char kGrey = 0;
    constexpr char kRgb = 2;
    constexpr char kRgbAlpha = 6;
    return channels == 1 ? kGrey : channels == kRgba ? kRgbAlpha : kRgb;
}

// The data of an iTXt chunk: keyword, not compressed, no language.
std::string international_text(const std::string& name, std::string text) {
    std::replace(text.begin(), text.end(), '\0', ' ');
    std::string data(name);
    data.append(5, '\0');
    return data.append(text);
}

} // namespace

std::optional<std::string> encode_png(const Pixels& pixels, const GoesOn& goes_on, const Metadata& metadata) {
    constexpr std::uint32_t kRows = 32; // between two calls of `goes_on`
    std::string file("\x89PNG\r\n\x1a\n");
    std::string header;
    append_u32(header, pixels.width);
    append_u32(header, pixels.height);
    header.push_back(8); // bits per channel
    header.push_back(colour_type(pixels.channels));
    header.append(3, '\0'); // deflate, adaptive filters, not interlaced
    append_chunk(file, "IHDR", header);
    for (const auto& [name, text] : metadata) {
        append_chunk(file, "iTXt", international_text(name, text));
    }
    const auto bytes = std::size_t{pixels.width} * pixels.channels;
    RowFilter filter(bytes, pixels.channels);
    Deflater deflater(file);
    for (std::uint32_t y = 0; y < pixels.height; ++y) {
        if (y % kRows == 0 && !goes_on()) {
            return std::nullopt;
        }
        deflater.write(filter.filter(pixels.data + y * bytes));
    }
    deflater.end();
    append_chunk(file, "IEND", {});
    return file;
}

} // namespace sotto::image
