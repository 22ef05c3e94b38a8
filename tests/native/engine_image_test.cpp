// Image operations: executed in steps, with progress, and with the guardrails of image prompts.
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "support/game.hpp"

using namespace test;

namespace {

constexpr std::uint32_t kSteps = 4; // denoise steps of each stream

// A backend for images: the last of its steps returns an image of four bytes.
struct Painter {
    std::atomic<int> steps{0};
    std::string prompt; // as the last stream got it

    static sotto_status step(Painter& self, const sotto_step& step) {
        for (std::uint32_t i = 0; i < step.count; ++i) {
            auto& work = *step.items[i];
            auto& left = *static_cast<std::uint32_t*>(work.stream);
            ++self.steps;
            work.evaluated = 1;
            work.remaining = --left;
            if (left == 0) {
                work.data = str("\x89PNG");
                work.data_info = str(R"({"index": 0, "seed": 7, "width": 64, "height": 64})");
                work.finish = SOTTO_FINISH_STOP;
                work.result = str(R"({"created": 1, "data": []})");
            }
        }
        return SOTTO_OK;
    }

    static sotto_status open(void* self, const sotto_stream_desc* desc, void** stream) {
        static_cast<Painter*>(self)->prompt = text_of(desc->body);
        *stream = new std::uint32_t(kSteps);
        return SOTTO_OK;
    }

    sotto_backend table() {
        auto table = SOTTO_INIT(sotto_backend);
        table.name = str("painter");
        table.self = this;
        table.open =
            [](void* self, const sotto_model_source*, void** model, sotto_model_info* info, sotto_str*) {
                *model = self;
                info->streams = 1;
                info->operations = SOTTO_OPERATION_IMAGE_GENERATE | SOTTO_OPERATION_IMAGE_MATTE;
                return sotto_status{SOTTO_OK};
            };
        table.close = [](void*, void*) {};
        table.stream_open = [](void* self,
                               void*,
                               const sotto_stream_desc* desc,
                               void** stream,
                               sotto_stream_info* info,
                               sotto_str*) {
            info->prompt_tokens = kSteps;
            return open(self, desc, stream);
        };
        table.stream_close = [](void*, void*, void* stream) { delete static_cast<std::uint32_t*>(stream); };
        table.step = [](void* self, void*, const sotto_step* one, sotto_str*) {
            return step(*static_cast<Painter*>(self), *one);
        };
        return table;
    }
};

struct Studio {
    Painter painter;
    Game game;

    explicit Studio(const sotto_engine_desc& desc = plain_desc()) : game(desc, painter.table()) {
        REQUIRE(done(game.finish(game.load("brush", "{}"))).status == SOTTO_OK);
    }

    const History& paint(std::string_view more, sotto_op op = SOTTO_OP_IMAGE_GENERATE, const Ask& how = {}) {
        const auto body = R"({"model": "brush")" + std::string(more) + "}";
        return game.finish(game.submit(body, how, op));
    }
};

std::vector<float> progress_in(const History& history) {
    std::vector<float> found;
    for (const auto& told : history) {
        if (told.kind == SOTTO_EVENT_PROGRESS) {
            found.push_back(told.progress);
        }
    }
    return found;
}

} // namespace

TEST_CASE("an image is generated in steps that report progress, and arrives as data") {
    Studio studio;
    for (const sotto_op op : {SOTTO_OP_IMAGE_GENERATE, SOTTO_OP_IMAGE_MATTE}) {
        const auto& history = studio.paint(R"(, "prompt": "a fox", "image": "iVBORw0K")", op);
        REQUIRE(done(history).status == SOTTO_OK);
        CHECK(done(history).json == R"({"created": 1, "data": []})");
        CHECK(progress_in(history).back() == 1.0F);
        CHECK(progress_in(history).size() >= kSteps);
        REQUIRE(count(history, SOTTO_EVENT_DATA) == 1);
        CHECK(studio.painter.steps.exchange(0) == kSteps);
    }
}

TEST_CASE("bodies of image operations are validated by field") {
    Studio studio;
    struct Wrong {
        const char* fields;
        const char* what;
        sotto_op op = SOTTO_OP_IMAGE_GENERATE;
    };
    constexpr std::array kWrong = {
        Wrong{R"(, "n": 1)", "missing prompt"},
        Wrong{R"(, "prompt": "")", "invalid prompt"},
        Wrong{R"(, "prompt": ["a"])", "invalid prompt"},
        Wrong{R"(, "prompt": "a", "size": "abc")", "invalid size 'abc': expected width x height"},
        Wrong{R"(, "prompt": "a", "size": "0x512")", "invalid size '\"0x512\"'"},
        Wrong{R"(, "prompt": "a", "size": "512x")", "invalid size '\"512x\"'"},
        Wrong{R"(, "prompt": "a", "size": "512x512x3")", "invalid size"},
        Wrong{R"(, "prompt": "a", "size": "8192x8192")", "invalid size '\"8192x8192\"'"},
        Wrong{R"(, "prompt": "a", "size": "99999x16")", "invalid size"},
        Wrong{R"(, "prompt": "a", "size": 512)", "invalid size '512'"},
        Wrong{R"(, "prompt": "a", "steps": 0)", "invalid steps '0'"},
        Wrong{R"(, "prompt": "a", "steps": 10000)", "invalid steps '10000'"},
        Wrong{R"(, "prompt": "a", "n": 0)", "invalid n '0'"},
        Wrong{R"(, "prompt": "a", "n": 17)", "invalid n '17'"},
        Wrong{R"(, "prompt": "a", "guidance_scale": -1)", "invalid guidance_scale '-1'"},
        Wrong{R"(, "prompt": "a", "quality": "best")", "invalid quality 'best'"},
        Wrong{R"(, "prompt": "a", "response_format": "url")", "invalid response_format 'url'"},
        Wrong{R"(, "prompt": "a", "mask": "AAAA")", "invalid mask 'AAAA': expected a field `image`"},
        Wrong{R"(, "prompt": "a", "strength": 0.5)", "invalid strength '0.5'"},
        Wrong{R"(, "prompt": "a", "partial_images": 4)", "invalid partial_images '4'"},
        Wrong{R"(, "prompt": "a", "guidence_scale": 4)", "did you mean \"guidance_scale\""},
        Wrong{"", "missing image", SOTTO_OP_IMAGE_MATTE},
        Wrong{R"(, "image": "")", "invalid image", SOTTO_OP_IMAGE_MATTE},
        Wrong{R"(, "image": "AAAA", "output_format": "gif")", "invalid output_format", SOTTO_OP_IMAGE_MATTE},
    };
    for (const auto& wrong : kWrong) {
        const auto told = done(studio.paint(wrong.fields, wrong.op));
        CHECK(told.status == SOTTO_ERROR_ARGUMENT);
        CHECK_MESSAGE(told.error.find(wrong.what) != std::string::npos, told.error);
    }
    const auto large = R"(, "prompt": ")" + std::string(1 << 20, 'a') + '"';
    CHECK(done(studio.paint(large)).error.find("invalid prompt '1048576 bytes'") != std::string::npos);
    CHECK(studio.painter.steps == 0);
}

TEST_CASE("sizes from 16 pixels to the limit are accepted") {
    Studio studio;
    for (const auto* size : {"16x16", "512x768", "8192x2048", "4096x4096", "auto"}) {
        const auto fields = R"(, "prompt": "a", "size": ")" + std::string(size) + '"';
        CHECK(done(studio.paint(fields)).status == SOTTO_OK);
    }
}

TEST_CASE("guardrails of image prompts check a prompt before a step") {
    constexpr std::string_view kRules = R"({"image_prompt": [
        {"type": "phrases", "phrases": ["blood"]},
        {"type": "phrases", "phrases": ["gun"], "action": "rewrite", "replacement": "flower"}]})";
    auto desc = plain_desc();
    REQUIRE(sotto_guard_create(str(kRules), &desc.guard) == SOTTO_OK);
    Studio studio(desc);
    sotto_guard_destroy(desc.guard);
    const auto blocked = done(studio.paint(R"(, "prompt": "a pool of blood")"));
    CHECK(blocked.status == SOTTO_ERROR_BLOCKED);
    CHECK_MESSAGE(blocked.error.find("prompt: blocked by guardrail") != std::string::npos, blocked.error);
    CHECK(studio.painter.steps == 0);
    CHECK(done(studio.paint(R"(, "prompt": "a gun")")).status == SOTTO_OK);
    CHECK(studio.painter.prompt.find("a flower") != std::string::npos);
    CHECK(done(studio.paint(R"(, "image": "blood")", SOTTO_OP_IMAGE_MATTE)).status == SOTTO_OK);
}
