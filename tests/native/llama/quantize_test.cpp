// Quantization: the new file equals what llama-quantize writes.
#include "../support/folder.hpp"
#include "../support/no_threads.hpp"
#include "module_under_test.hpp"
#include "support/paths.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>
#include <vector>

using namespace under_test;
using test::Folder;
namespace fs = std::filesystem;

namespace {

struct Request {
    std::string path = test::paths::kWideModel;
    std::string type = "Q4_K_M";
    std::string imatrix = {};
    std::uint32_t threads = 2;
    std::function<bool(float)> cancels = {};
    std::size_t room = SIZE_MAX; // bytes that can be written
};

struct Result {
    sotto_status status = SOTTO_OK;
    std::string why;
    std::string file;
    std::vector<float> told; // progress
};

struct Running {
    const Request& request;
    Result& result;
};

std::int32_t write_part(void* context, std::uint64_t offset, const void* bytes, std::size_t count) {
    auto& [request, result] = *static_cast<Running*>(context);
    REQUIRE(offset <= result.file.size());
    if (offset + count > request.room) {
        return 1;
    }
    result.file.resize(std::max<std::size_t>(result.file.size(), offset + count));
    std::memcpy(result.file.data() + offset, bytes, count);
    return 0;
}

std::int32_t tell(void* context, float progress) {
    auto& [request, result] = *static_cast<Running*>(context);
    result.told.push_back(progress);
    return request.cancels && request.cancels(progress) ? 1 : 0;
}

sotto_str str(const std::string& text) {
    return {text.data(), text.size()};
}

Result quantize(const Request& request) {
    Result result;
    Running running = {request, result};
    auto desc = SOTTO_INIT(sotto_quantize_source);
    desc.threads = request.threads;
    desc.path = str(request.path);
    desc.type = str(request.type);
    desc.imatrix = str(request.imatrix);
    desc.write = write_part;
    desc.progress = tell;
    desc.context = &running;
    sotto_str why = {nullptr, 0};
    result.status = backend().quantize(backend().self, &desc, &why);
    result.why = text(why);
    return result;
}

// Returns what llama-quantize writes; empty if it fails.
std::string reference(const Folder& folder, const Request& request) {
    const auto to = (folder.path() / "reference.gguf").string();
    fs::remove(to);
    const auto imatrix = request.imatrix.empty() ? "" : " --imatrix '" + request.imatrix + "'";
    const auto command = std::string(test::paths::kQuantizeReference) + imatrix + " '" + request.path +
                         "' '" + to + "' " + request.type + " 1 >/dev/null 2>&1";
    return std::system(command.c_str()) == 0 ? read_file(to) : "";
}

void append(std::string& bytes, const auto& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_text(std::string& bytes, const std::string& text) {
    append(bytes, std::uint64_t{text.size()});
    bytes += text;
}

struct Entry {
    std::string tensor;
    std::vector<float> sums;
    float count = 1;
};

// Writes an importance matrix in GGUF, with `chunks` as its number of chunks.
void write_imatrix(const fs::path& path, const std::vector<Entry>& entries, std::uint32_t chunks = 3) {
    std::string bytes = "GGUF";
    append(bytes, std::uint32_t{3});
    append(bytes, std::uint64_t{entries.size() * 2});
    append(bytes, std::uint64_t{4});
    append_text(bytes, "general.type");
    append(bytes, std::uint32_t{8});
    append_text(bytes, "imatrix");
    append_text(bytes, "imatrix.datasets");
    append(bytes, std::uint32_t{9});
    append(bytes, std::uint32_t{8});
    append(bytes, std::uint64_t{1});
    append_text(bytes, "lines.txt");
    for (const auto& [key, value] :
         {std::pair("imatrix.chunk_count", chunks), std::pair("imatrix.chunk_size", 512U)}) {
        append_text(bytes, key);
        append(bytes, std::uint32_t{4});
        append(bytes, value);
    }
    std::string data;
    const auto add = [&](const std::string& name, const std::vector<float>& values) {
        append_text(bytes, name);
        append(bytes, std::uint32_t{2});
        append(bytes, std::uint64_t{values.size()});
        append(bytes, std::uint64_t{1});
        append(bytes, std::uint32_t{0});
        append(bytes, std::uint64_t{data.size()});
        data.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
        data.resize((data.size() + 31) / 32 * 32);
    };
    for (const auto& entry : entries) {
        add(entry.tensor + ".in_sum2", entry.sums);
        add(entry.tensor + ".counts", {entry.count});
    }
    bytes.resize((bytes.size() + 31) / 32 * 32);
    std::ofstream(path, std::ios::binary) << bytes << data;
}

// Entries for the matrices of the model's layer.
std::vector<Entry> entries() {
    std::vector<Entry> made;
    for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
        const std::size_t columns = std::string(name) == "ffn_down" ? 512 : 256;
        Entry entry = {"blk.0." + std::string(name) + ".weight", std::vector<float>(columns), 5};
        for (std::size_t i = 0; i < columns; ++i) {
            entry.sums[i] = 0.1F + static_cast<float>((i * 7 + made.size() * 3) % 31);
        }
        made.push_back(std::move(entry));
    }
    return made;
}

} // namespace

TEST_CASE("a quantized file equals that of llama-quantize, byte for byte, for every type") {
    const Folder folder;
    for (const std::string type :
         {"F32",    "F16",    "BF16",  "Q8_0", "Q6_K",  "Q5_K_M", "Q5_K_S", "Q5_K",   "Q5_1",     "Q5_0",
          "Q4_K_M", "Q4_K_S", "Q4_K",  "Q4_1", "Q4_0",  "IQ4_NL", "IQ4_XS", "Q3_K_L", "Q3_K_M",   "Q3_K_S",
          "Q3_K",   "IQ3_M",  "IQ3_S", "Q2_K", "TQ2_0", "TQ1_0",  "Q2_0",   "Q1_0",   "MXFP4_MOE"}) {
        CAPTURE(type);
        const Request request = {.type = type};
        const auto expected = reference(folder, request);
        const auto made = quantize(request);
        CHECK_MESSAGE(made.status == SOTTO_OK, made.why);
        REQUIRE(!expected.empty());
        CHECK(made.file == expected);
    }
    CHECK(take_log().empty());
}

TEST_CASE("a file quantized with an importance matrix equals that of llama-quantize") {
    const Folder folder;
    const auto imatrix = folder.path() / "imatrix.gguf";
    write_imatrix(imatrix, entries());
    for (const std::string type :
         {"Q4_K_M",
          "Q4_0",
          "IQ4_NL",
          "IQ3_XXS",
          "IQ2_M",
          "IQ2_S",
          "IQ2_XS",
          "IQ2_XXS",
          "IQ1_M",
          "IQ1_S",
          "Q2_K_S"}) {
        CAPTURE(type);
        const Request request = {.type = type, .imatrix = imatrix.string()};
        const auto expected = reference(folder, request);
        const auto made = quantize(request);
        CHECK_MESSAGE(made.status == SOTTO_OK, made.why);
        REQUIRE(!expected.empty());
        CHECK(made.file == expected);
        CHECK(made.file != quantize({.type = "Q4_K_M"}).file);
    }
}

TEST_CASE("rows that the blocks of a type do not divide get a similar type, as by llama-quantize") {
    const Folder folder;
    for (const std::string type : {"Q4_K_M", "IQ1_S", "TQ1_0"}) {
        CAPTURE(type);
        const Request request = {.path = tiny(), .type = type};
        const auto made = quantize(request);
        CHECK_MESSAGE(made.status == SOTTO_OK, made.why);
        CHECK(made.file == reference(folder, request));
    }
    const auto none = quantize({.path = tiny(), .type = "Q1_0"});
    CHECK(none.status == SOTTO_ERROR_ARGUMENT);
    CHECK_MESSAGE(none.why.find("invalid type 'Q1_0'") == 0, none.why);
}

TEST_CASE("the number of threads does not change the file, and the type's name may be in lower case") {
    const auto one = quantize({.threads = 1});
    REQUIRE_MESSAGE(one.status == SOTTO_OK, one.why);
    CHECK(quantize({.threads = 7}).file == one.file);
    CHECK(quantize({.type = "q4_k_m"}).file == one.file);
    const test::NoThreads none;
    CHECK(quantize({.threads = 7}).file == one.file);
}

TEST_CASE("a quantized model answers") {
    const Folder folder;
    const auto path = (folder.path() / "q8.gguf").string();
    std::ofstream(path, std::ios::binary) << quantize({.type = "Q8_0"}).file;
    Model model({.path = path});
    REQUIRE_MESSAGE(model, model.why);
    CHECK(model.description.find("\"quantization\":\"Q8_0\"") != std::string::npos);
    CHECK(!Stream(model, chat("who is the king")).run(8).text.empty());
}

TEST_CASE("progress rises to 1, and a quantization can be cancelled at any point") {
    const auto whole = quantize({.threads = 1});
    CHECK(std::is_sorted(whole.told.begin(), whole.told.end()));
    CHECK(whole.told.back() > 0.99F);
    CHECK(whole.told.size() > 10);
    for (const std::uint32_t threads : {1U, 3U}) {
        for (std::size_t stop = 1; stop <= whole.told.size(); stop += 1 + stop / 4) {
            std::size_t calls = 0;
            const auto made =
                quantize({.threads = threads, .cancels = [&](float) { return ++calls >= stop; }});
            CHECK(made.status == (calls < stop ? SOTTO_OK : SOTTO_ERROR_CANCELLED));
            CHECK(made.file.size() <= whole.file.size());
        }
    }
    CHECK(quantize({.room = 1000}).status == SOTTO_ERROR_CANCELLED);
    CHECK(take_log().empty());
}

TEST_CASE("invalid requests name the parameter and the way out") {
    const auto unknown = quantize({.type = "Q4"});
    CHECK(unknown.status == SOTTO_ERROR_ARGUMENT);
    CHECK(unknown.why.find("invalid type 'Q4': expected F32, F16, BF16, Q8_0") == 0);
    const auto needy = quantize({.type = "IQ2_XXS"});
    CHECK(needy.status == SOTTO_ERROR_ARGUMENT);
    CHECK_MESSAGE(needy.why.find("invalid type 'IQ2_XXS'") == 0, needy.why);
    CHECK(needy.why.find("set imatrix") != std::string::npos);
    const auto again = quantize({.path = tiny("tiny-q4.gguf"), .type = "Q8_0"});
    CHECK(again.status == SOTTO_ERROR_ARGUMENT);
    CHECK_MESSAGE(again.why.find("the model is quantized already") != std::string::npos, again.why);
    CHECK(quantize({.path = "/no/such/file"}).status == SOTTO_ERROR_NOT_FOUND);
}

TEST_CASE("damaged files are refused") {
    const Folder folder;
    const auto path = (folder.path() / "damaged.gguf").string();
    const auto whole = read_file(test::paths::kWideModel);
    std::ofstream(path, std::ios::binary) << whole.substr(0, whole.size() / 2);
    CHECK(quantize({.path = path}).status == SOTTO_ERROR_MODEL);
    auto nan = whole;
    std::memcpy(nan.data() + nan.size() - 16, "\xff\xff\xff\x7f", 4);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << nan;
    const auto refused = quantize({.path = path});
    CHECK(refused.status == SOTTO_ERROR_MODEL);
    CHECK_MESSAGE(refused.why.find("blk.0.ffn_down.weight") != std::string::npos, refused.why);

    const auto imatrix = folder.path() / "imatrix.gguf";
    const auto why = [&] { return quantize({.imatrix = imatrix.string()}).why; };
    CHECK(why().starts_with("invalid imatrix"));
    write_imatrix(imatrix, {});
    CHECK(why().starts_with("invalid imatrix"));
    auto wrong = entries();
    wrong[0].sums.resize(64);
    write_imatrix(imatrix, wrong);
    CHECK_MESSAGE(
        why().find("imatrix size 64 is different from tensor size 256") != std::string::npos, why()
    );
    wrong = entries();
    wrong[3].sums[5] = std::numeric_limits<float>::infinity();
    write_imatrix(imatrix, wrong);
    CHECK_MESSAGE(why().find("holds NaN or infinite numbers") != std::string::npos, why());
}
