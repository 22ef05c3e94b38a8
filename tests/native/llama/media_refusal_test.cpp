// Refused images, sounds and projectors, and their errors.
#include "media_files.hpp"

#include <cstring>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>

#include "../support/folder.hpp"

using namespace under_test;

TEST_CASE("invalid images are refused by their path") {
    Model model(seeing());
    const std::string place = "invalid messages[0].content[1].image_url.url";
    const auto told = [&](const std::string& url) {
        return refusal(model, conversation({message({kQuestion, image_part(url)})}));
    };
    CHECK(
        told("https://a.b/c.png") ==
        place + " 'https://a.b/c.png': expected a data URL; Sotto fetches no URLs"
    );
    CHECK(told("/etc/passwd").starts_with(place + " '/etc/passwd': expected a data URL"));
    CHECK(told("data:image/png,abc").starts_with(place + " 'data:image/png,abc': expected a data URL"));
    CHECK(told("data:image/png;base64,") == place + " '': expected base64 data of 1 byte or more");
    CHECK(told("data:image/png;base64,%%%%") == place + " '%%%%': expected base64 data");
    const auto none = told("data:image/png;base64,aGVsbG8gd29ybGQ=");
    CHECK_MESSAGE(none.starts_with(place + ": expected a readable PNG, JPEG, BMP or GIF image ("), none);
    const auto as_url = [](const std::string& file) { return "data:image/bmp;base64," + base64(file); };
    const auto empty = told(as_url(bmp(0, 0, 1)));
    CHECK_MESSAGE(empty.starts_with(place), empty);
    auto bomb = bmp(4, 4, 1);
    bomb.replace(18, 8, std::string("\xFF\xFF\x3F\0\xFF\xFF\x3F\0", 8));
    const auto large = told(as_url(bomb));
    CHECK_MESSAGE(
        large.find("sides of 1 to 16384 pixels, and at most 33554432 pixels in all") != std::string::npos,
        large
    );
    auto from_top = bmp(4, 4, 1);
    from_top.replace(22, 4, "\xFC\xFF\xFF\xFF");
    CHECK(answer_to(model, shown(image(from_top))).size() > 0);
}

TEST_CASE("the number of images is limited") {
    Model model(seeing("tiny.gguf", "eyes.gguf", R"(, "context": 512)"));
    std::vector<std::string> parts(17, image(bmp(2, 2, 7)));
    const auto why = refusal(model, conversation({message(parts)}));
    CHECK(why == "invalid messages[0].content[16]: expected at most 16 images and sounds in a request");
}

TEST_CASE("a model refuses kinds of media that it does not support") {
    Model model(seeing());
    CHECK(
        refusal(model, shown(sound(wav(16000, 440))), SOTTO_ERROR_UNSUPPORTED) ==
        "messages[0].content[0]: the model reads text and images, not sounds; use another projector"
    );
    Model reads;
    CHECK(
        refusal(reads, shown(kRed), SOTTO_ERROR_UNSUPPORTED) ==
        R"(the model reads text only, but messages[0] has content of type "image_url"; set options.projector)"
    );
    Model small(seeing_rows(R"(, "image_tokens": 64)"));
    Model large(seeing_rows());
    const auto size_of = [](Model& model) {
        return Stream(model, shown(image(bmp(300, 300, 5)))).answer.prompt_tokens;
    };
    CHECK(size_of(small) <= 64 + 60);
    CHECK(size_of(large) > 200);
    Model narrow(seeing("tiny-window.gguf", "eyes-window.gguf", R"(, "batch": 2, "parallel": 1)"));
    REQUIRE_MESSAGE(narrow, narrow.why);
    CHECK(
        refusal(narrow, shown(kRed), SOTTO_ERROR_UNSUPPORTED) ==
        "invalid options.batch '2': expected at least 4, the tokens of an image"
    );
}

TEST_CASE("invalid projectors, and those of other models, are refused, also by a plan") {
    const test::Folder folder;
    const auto why_not = [](const std::string& path) {
        const Source source = {.options = R"({"projector": ")" + path + "\"}"};
        Model model(source);
        CHECK(!model);
        CHECK(model.why.starts_with("options.projector: "));
        return model.why;
    };
    const auto changed = [&](const std::string& from, const std::string& to) {
        auto bytes = read_file(projector("eyes.gguf"));
        const auto at = bytes.find(from);
        REQUIRE(at != std::string::npos);
        bytes.replace(at, from.size(), to);
        const auto path = (folder.path() / "changed.gguf").string();
        std::ofstream(path, std::ios::binary) << bytes;
        return path;
    };
    const auto says = [&](const std::string& path, const char* reason) {
        const auto why = why_not(path);
        CHECK_MESSAGE(why.find(reason) != std::string::npos, why);
    };
    says("/no/such", "file '/no/such' does not exist");
    says("/dev/null", "invalid path '/dev/null': expected a regular file");
    says(tiny(), "invalid general.architecture 'llama': expected 'clip', which a projector has");
    says(projector("eyes-narrow.gguf"), "the projector makes embeddings of 64 numbers; expected 128");
    const auto lacking = changed("v.blk.0.attn_out.weight", "v.blk.0.attn_xyz.weight");
    says(lacking, "unable to find tensor v.blk.0.attn_out.weight");
    auto info = SOTTO_INIT(sotto_model_info);
    std::string why;
    CHECK(measure({.options = R"({"projector": ")" + lacking + "\"}"}, info, why) == SOTTO_ERROR_MODEL);
    CHECK_MESSAGE(why.find("unable to find tensor") != std::string::npos, why);
    const auto size = std::string("clip.vision.patch_size\4\0\0\0", 26);
    says(
        changed(size + "\7", size + std::string(1, '\0')),
        "invalid clip.vision.patch_size '0': expected 1 to 1024"
    );
    says(
        changed(std::string("\3\0\0\0\0\0\0\0mlp", 11), std::string("\3\0\0\0\0\0\0\0mlq", 11)),
        "unknown projector type: mlq"
    );
}

TEST_CASE("a projector is refused with a host's file functions") {
    struct Archive {
        std::string content = read_file(tiny());
    } archive;
    auto files = SOTTO_INIT(sotto_file_access);
    files.self = &archive;
    files.open = [](void* self, sotto_str, void** file, std::uint64_t* size) -> sotto_status {
        *file = self;
        *size = static_cast<Archive*>(self)->content.size();
        return SOTTO_OK;
    };
    files.read = [](void*, void* file, std::uint64_t offset, void* out, std::uint64_t bytes) -> sotto_status {
        std::memcpy(out, static_cast<Archive*>(file)->content.data() + offset, bytes);
        return SOTTO_OK;
    };
    files.close = [](void*, void*) {};
    auto source = seeing();
    source.files = &files;
    Model model(source);
    CHECK(model.status == SOTTO_ERROR_UNSUPPORTED);
    CHECK_MESSAGE(
        model.why.find("llama.cpp reads projectors from the file system only") != std::string::npos, model.why
    );
}

TEST_CASE("invalid sounds are refused by their path") {
    Model model(seeing("tiny.gguf", "ears.gguf"));
    const std::string place = "invalid messages[0].content[0].input_audio.data";
    CHECK(refusal(model, shown(sound(wav(0, 1)))).starts_with(place));
    CHECK(
        refusal(model, shown(sound("RIFFnothing of the kind"))) ==
        place + ": expected a readable WAV, MP3 or FLAC sound"
    );
    const auto endless = refusal(model, shown(sound(wav(16000, 1, 16)))); // a thousand seconds
    CHECK_MESSAGE(endless == place + ": expected a sound of at most 600 seconds", endless);
    CHECK(
        refusal(model, shown(kRed), SOTTO_ERROR_UNSUPPORTED) ==
        "messages[0].content[0]: the model reads text and sounds, not images; use another projector"
    );
}
