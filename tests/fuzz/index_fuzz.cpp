// Fuzzes the reader of a vector index: a file is refused with the one status, or can be searched and changed.
//
// Each input is used as it is, and with a corrected checksum, so that more than the checksum is tested; read
// into memory and mapped.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "index_bytes.hpp"
#include "platform/file.hpp"
#include "store/vector_index.hpp"

namespace {

using namespace sotto::store;

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

// Searches, changes and saves an index of any origin.
void use(VectorIndex& index, const std::string& path) {
    const std::size_t dim = index.options().dim;
    const std::vector<float> vector(dim, 0.5F);
    SearchOptions odd;
    odd.filter = [](std::uint64_t label) { return label % 2 == 1; };
    index.build();
    require(index.search(vector, 5).size() <= 5);
    (void)index.search(vector, 5, odd);
    const auto labels = index.labels();
    require(labels.size() == index.size());
    if (!labels.empty()) {
        require(index.contains(labels[0]) && index.update(vector, labels[0]));
        require(index.search(vector, 1)[0].distance < 0.1F);
        require(index.remove(labels[0]));
    }
    const std::uint64_t fresh = 0xF0F0'F0F0'F0F0'F0F0;
    if (index.options().max_elements == 0 && !index.contains(fresh)) {
        index.add(vector, {&fresh, 1});
    }
    index.save({"path", path});
    require(VectorIndex::load({"path", path})->size() == index.size());
}

void read(const std::string& bytes, const std::string& path, bool mapped) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    try {
        const auto index = VectorIndex::load({"path", path}, mapped);
        use(*index, path);
    } catch (const sotto::Error& error) { // only this type may be thrown
        const std::string_view why = error.what();
        require(error.status() == SOTTO_ERROR_STATE && why.size() < 1000);
        require(why.find('\n') == std::string_view::npos);
    }
}

// A folder of this process, removed at its end.
struct Folder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / sotto::unique_name("sotto-fuzz-", "");
    Folder() { std::filesystem::create_directory(path); }
    ~Folder() { std::filesystem::remove_all(path); }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Folder folder;
    const auto path = (folder.path / "index").string();
    std::string bytes(reinterpret_cast<const char*>(data), size);
    read(bytes, path, false);
    test::correct_index_checksum(bytes);
    read(bytes, path, size % 2 == 0);
    return 0;
}
