// Damaged files: opening fails, or the model generates nonsense, but the process never crashes.
#include "../support/full.hpp"
#include "module_under_test.hpp"

#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <random>

using namespace under_test;

namespace {

struct Damaged {
    std::string content;

    static sotto_status SOTTO_CALL on_open(void* self, sotto_str, void** file, uint64_t* size) {
        *file = self;
        *size = static_cast<Damaged*>(self)->content.size();
        return SOTTO_OK;
    }
    static sotto_status SOTTO_CALL on_read(void*, void* file, uint64_t offset, void* buffer, uint64_t bytes) {
        const auto& content = static_cast<Damaged*>(file)->content;
        if (offset + bytes > content.size()) {
            return SOTTO_ERROR_INTERNAL;
        }
        std::memcpy(buffer, content.data() + offset, bytes);
        return SOTTO_OK;
    }
    static void SOTTO_CALL on_close(void*, void*) {}

    std::unique_ptr<Model> open() {
        auto access = SOTTO_INIT(sotto_file_access);
        access.open = on_open;
        access.read = on_read;
        access.close = on_close;
        access.self = this;
        return std::make_unique<Model>(
            Source{.path = "damaged", .options = R"({"parallel": 1})", .files = &access}
        );
    }
};

// Opens the file and, if that succeeds, generates four tokens. Returns true if both succeeded.
bool survives(Damaged& damaged) {
    const auto opened = damaged.open();
    auto& model = *opened;
    if (!model) {
        CHECK(!model.why.empty());
        CHECK(
            (model.status == SOTTO_ERROR_MODEL || model.status == SOTTO_ERROR_UNSUPPORTED ||
             model.status == SOTTO_ERROR_MEMORY)
        );
        return false;
    }
    Stream talk(model, chat("who is the king"));
    talk.run(4);
    Stream text(model, completion("who is the king"), SOTTO_OP_COMPLETION);
    text.run(4);
    return true;
}

// Divisor of the number of tried damages.
std::size_t share() {
    return test::is_full() ? 1 : 4;
}

std::size_t header_of(const std::string& content) {
    const auto last = content.rfind("weight"); // name of the last tensor
    return last + 64;
}

void damage(const std::string& file, int times, unsigned seed) {
    const auto whole = read_file(tiny(file.c_str()));
    const auto header = header_of(whole);
    std::mt19937 random(seed);
    int opened = 0;
    times /= static_cast<int>(share());
    for (int i = 0; i < times; ++i) {
        Damaged damaged{whole};
        const auto at = random() % header;
        const auto byte =
            i % 2 == 0 ? static_cast<char>(whole[at] ^ (1 << random() % 8)) : static_cast<char>(random());
        damaged.content[at] = byte;
        CAPTURE(at);
        CAPTURE(static_cast<int>(static_cast<unsigned char>(byte)));
        opened += survives(damaged);
    }
    MESSAGE(file << ": " << opened << " of " << times << " damaged files opened");
    CHECK(opened < times);
}

} // namespace

// SOTTO_TEST_DAMAGE multiplies the number of damages by that many thousand, with other seeds.
TEST_CASE("files with damaged headers are refused or work") {
    const char* asked = std::getenv("SOTTO_TEST_DAMAGE");
    const auto times = asked == nullptr ? 1u : static_cast<unsigned>(std::atoi(asked));
    for (unsigned time = 0; time < times; ++time) {
        damage("tiny.gguf", 400, 4 * time + (times > 1 ? times : 0));
        damage("tiny-bytes.gguf", 200, 4 * time + 1);
        damage("tiny-window.gguf", 200, 4 * time + 2);
        damage("tiny-recurrent.gguf", 200, 4 * time + 3);
        damage("tiny-hybrid.gguf", 200, 4 * time + 3);
    }
    take_log();
}

TEST_CASE("files with damaged numbers and types in the header are refused or work") {
    const auto whole = read_file(tiny());
    const auto first_token = whole.find("tokenizer.ggml.tokens");
    std::mt19937 random(7);
    for (std::size_t at = 4; at < first_token; at += share()) {
        for (const char byte : {'\0', '\xFF', static_cast<char>(random())}) {
            Damaged damaged{whole};
            damaged.content[at] = byte;
            CAPTURE(at);
            survives(damaged);
        }
    }
    take_log();
}

TEST_CASE("assertions of llama.cpp during a load become errors") {
    Damaged damaged{read_file(tiny())};
    const auto key = damaged.content.find("rope.scaling.type");
    REQUIRE(key != std::string::npos);
    damaged.content.replace(damaged.content.find("none", key), 4, "nope");
    const auto model = damaged.open();
    CHECK(model->status == SOTTO_ERROR_MODEL);
    CHECK_MESSAGE(model->why.find("rope_scaling_type") != std::string::npos, model->why);
    CHECK(take_log().size() > 0);
    CHECK(Model().status == SOTTO_OK); // checks that the next load succeeds
}

TEST_CASE("files with damaged weights are refused or work") {
    const auto whole = read_file(tiny("tiny-q4.gguf"));
    const auto data = header_of(whole);
    std::mt19937 random(9);
    for (int i = 0; i < 20; ++i) {
        Damaged damaged{whole};
        for (int byte = 0; byte < 2000; ++byte) {
            damaged.content[data + random() % (whole.size() - data)] = static_cast<char>(random());
        }
        survives(damaged);
    }
    take_log();
}
