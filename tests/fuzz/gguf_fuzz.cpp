// Feeds bytes to our check of GGUF files, which must refuse or accept, and never crash.
//
// With libFuzzer (clang) a fuzzer; with any other compiler a program that replays the files and folders that
// it is given, and, after --mutate <n>, each of them n times with a few bytes changed.
#include "gguf_check.hpp"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <vector>

namespace {

class Bytes final : public sotto::llama::Source {
public:
    Bytes(const std::uint8_t* data, std::size_t size) : data_(data) { size_ = size; }

    void read(std::uint64_t offset, void* out, std::size_t count) override {
        if (offset > size_ || count > size_ - offset) {
            std::abort(); // it was to look before it reads
        }
        std::memcpy(out, data_ + offset, count);
    }
    std::FILE* file() override { return nullptr; }
    bool mappable() const noexcept override { return false; }

private:
    const std::uint8_t* data_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Bytes bytes(data, size);
    try {
        sotto::llama::check_gguf(bytes);
    } catch (const sotto::llama::Error& error) {
        if (*error.what() == '\0') {
            std::abort(); // a refusal has a reason
        }
    }
    return 0;
}

#ifndef SOTTO_LIBFUZZER
namespace {

std::size_t replay(const std::filesystem::path& path, int mutations) {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> content{std::istreambuf_iterator<char>(file), {}};
    const auto feed = [&] {
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(content.data()), content.size());
    };
    feed();
    std::mt19937 random(static_cast<unsigned>(content.size()));
    for (int i = 0; i < mutations && !content.empty(); ++i) {
        const auto original = content;
        const auto reach = std::min<std::size_t>(content.size(), 1 + random() % 20000);
        for (unsigned change = 0; change < 1 + random() % 4; ++change) {
            content[random() % reach] = static_cast<char>(random());
        }
        if (random() % 8 == 0) {
            content.resize(random() % content.size());
        }
        feed();
        content = original;
    }
    return 1 + static_cast<std::size_t>(mutations);
}

} // namespace

int main(int count, char** arguments) {
    std::size_t fed = 0;
    int mutations = 0;
    for (int i = 1; i < count; ++i) {
        if (std::strcmp(arguments[i], "--mutate") == 0 && i + 1 < count) {
            mutations = std::stoi(arguments[++i]);
        } else if (std::filesystem::is_directory(arguments[i])) {
            for (const auto& entry : std::filesystem::directory_iterator(arguments[i])) {
                fed += replay(entry.path(), mutations);
            }
        } else {
            fed += replay(arguments[i], mutations);
        }
    }
    std::cout << fed << " inputs\n";
    return fed > 0 ? 0 : 1;
}
#endif
