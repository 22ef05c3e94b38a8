// Parts of the module sotto_onnx that need no ONNX Runtime: checks of files and options, resizing, edges,
// colours.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "backends/onnx/half.hpp"
#include "backends/onnx/model_check.hpp"
#include "backends/onnx/options.hpp"
#include "backends/onnx/recipe.hpp"
#include "backends/onnx/runtime.hpp"

using namespace sotto;
using namespace sotto::onnx;

namespace {

std::string refusal(const auto& body) {
    try {
        body();
    } catch (const Error& error) {
        return error.what();
    }
    return "nothing was refused";
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

// A field of a protobuf message that has a length.
std::string field(int number, std::string_view bytes) {
    std::string text;
    for (auto tag = static_cast<unsigned>(number) << 3 | 2U;; tag >>= 7) {
        text.push_back(static_cast<char>(tag < 128 ? tag : (tag & 127) | 128));
        if (tag < 128) {
            break;
        }
    }
    REQUIRE(bytes.size() < 128);
    text.push_back(static_cast<char>(bytes.size()));
    return text.append(bytes);
}

std::string model_with(std::string_view graph) {
    return std::string("\x08\x08", 2) + field(7, graph);
}

std::string graph_with(std::string_view more) {
    return field(1, "\x22\x04Relu") + field(11, "\x0a\x01x") + field(12, "\x0a\x01y") + std::string(more);
}

} // namespace

TEST_CASE("a model file is checked before ONNX Runtime sees it") {
    check_model(model_with(graph_with("")));
    struct Wrong {
        std::string file;
        const char* why;
    };
    const std::vector<Wrong> wrong = {
        {"", "no ir_version"},
        {"GGUF\x03", "not an ONNX model"},
        {std::string(100, '\0'), "a field without a number"},
        {std::string("\x08\x08", 2), "no graph"},
        {field(7, graph_with("")), "no ir_version"},
        {model_with(""), "no nodes, inputs or outputs"},
        {model_with(graph_with("")).substr(0, 20), "truncated"},
        {model_with(graph_with(field(5, "\x70\x01"))), "external data"},
        {model_with(graph_with(field(5, field(13, "x")))), "external data"},
        {model_with(graph_with(field(1, field(5, field(5, "\x70\x01"))))), "external data"},
        {model_with(graph_with(field(1, field(5, field(6, field(5, "\x70\x01")))))), "external data"},
    };
    for (const auto& one : wrong) {
        const auto why = refusal([&] { check_model(one.file); });
        CHECK_MESSAGE(contains(why, one.why), why);
    }
    std::string deep = graph_with("");
    for (int i = 0; i < 12; ++i) { // a message of this test has at most 127 bytes
        deep = field(1, field(5, field(6, deep.size() < 90 ? deep : graph_with(""))));
    }
    check_model(model_with(graph_with(deep)));
}

TEST_CASE("the size of a model's input is read from its file") {
    const auto dim = [](std::uint64_t value) {
        return field(
            1,
            std::string("\x08", 1) + static_cast<char>((value & 127U) | 128U) + static_cast<char>(value >> 7)
        );
    };
    const auto shape = field(1, std::string_view("\x08\x01", 2)) + field(1, std::string_view("\x08\x03", 2)) +
                       dim(256) + dim(320);
    const auto input = field(11, field(1, "x") + field(2, field(1, field(2, shape))));
    const auto graph = field(1, field(4, "Relu")) + input + field(12, "\x0a\x01y");
    const auto facts = check_model(model_with(graph) + field(14, field(1, "sotto.size") + field(2, "128")));
    CHECK(facts.height == 256);
    CHECK(facts.width == 320);
    CHECK(facts.size == 128);
    CHECK(check_model(model_with(graph_with(""))).width == 0);
}

TEST_CASE("mutated model files are refused or passed on") {
    std::mt19937 random(5);
    const auto original =
        model_with(graph_with(field(5, field(9, "1234")) + field(1, field(5, field(6, "\x0a\x02")))));
    int refused = 0;
    for (int i = 0; i < 20'000; ++i) {
        auto file = original;
        for (auto changes = 1 + random() % 4; changes > 0; --changes) {
            file[random() % file.size()] = static_cast<char>(random());
        }
        file.resize(random() % 8 == 0 ? random() % file.size() : file.size());
        try {
            check_model(file);
        } catch (const Error& error) {
            CHECK(error.status() == SOTTO_ERROR_MODEL);
            ++refused;
        }
    }
    CHECK(refused > 2'000);
}

TEST_CASE("load options are validated by name") {
    CHECK(read_options("").threads == 0);
    const auto options = read_options(
        R"({"threads": 2, "size": 320, "form": "u2net", "normalise": "none",
        "activation": "sigmoid", "mean": [0.1, 0.2, 0.3], "std": [1, 2, 3], "max_pixels": 1000, "library": "/x"})"
    );
    CHECK(options.threads == 2);
    CHECK(options.form == Form::u2net);
    CHECK(options.mean.value()[2] == doctest::Approx(0.3));
    CHECK(options.library == "/x");
    for (const char* wrong :
         {R"({"threads": 0})",
          R"({"threads": 1.5})",
          R"({"threads": "2"})",
          R"({"size": 8})",
          R"({"form": "unet"})",
          R"({"normalise": 1})",
          R"({"mean": [1, 2]})",
          R"({"mean": [1, 2, 3, 4]})",
          R"({"mean": [1, 2, "3"]})",
          R"({"mean": [1, 2, 1e99]})",
          R"({"std": [1, 0, 1]})",
          R"({"max_pixels": 99999999})",
          R"({"library": 5})"}) {
        CHECK(contains(refusal([&] { read_options(wrong); }), "invalid options."));
    }
    CHECK(contains(refusal([] { read_options(R"({"treads": 1})"); }), "unknown field options.treads"));
    CHECK(contains(refusal([] { read_options("[]"); }), "expected a JSON object"));
}

TEST_CASE("the recipe comes from the form, then the metadata, then the options") {
    const auto plain = recipe_of({}, {}, {0, 0}, "input");
    CHECK(plain.form == Form::isnet);
    CHECK(plain.size.width == 1024);
    CHECK(plain.min_max);
    const auto small = recipe_of({}, {}, {320, 320}, "input.1");
    CHECK(small.form == Form::u2net);
    CHECK(small.by_largest);
    CHECK(recipe_of({}, {}, {1024, 1024}, "input_image").sigmoid_if_logits);
    Metadata own{.mean = "0.5,0.5,0.5", .std = "0.25,0.25,0.25", .size = "256", .normalise = "none"};
    const auto ours = recipe_of({}, own, {320, 320}, "input");
    CHECK(ours.std[0] == 0.25F);
    CHECK_FALSE(ours.by_largest);
    CHECK_FALSE(ours.min_max);
    CHECK(ours.size.width == 320); // a fixed size is the file's
    CHECK(recipe_of({}, own, {0, 0}, "input").size.width == 256);
    Options options;
    options.size = 128;
    options.normalise = Normalise::min_max;
    const auto chosen = recipe_of(options, own, {0, 0}, "input");
    CHECK(chosen.size.width == 128);
    CHECK(chosen.min_max);
    CHECK(
        contains(refusal([&] { recipe_of(options, own, {320, 320}, "input"); }), "fixed input size 320 x 320")
    );
    own.mean = "a,b,c";
    CHECK(
        contains(refusal([&] { recipe_of({}, own, {0, 0}, "input"); }), "invalid metadata sotto.mean 'a,b,c'")
    );
}

TEST_CASE("masks are finished: logits, NaN, constants") {
    Recipe recipe;
    recipe.min_max = false;
    recipe.sigmoid_if_logits = true;
    Mask logits{1, 3, {-10, 0, 10}};
    finish_mask(recipe, logits);
    CHECK(logits.values[1] == 0.5F);
    CHECK(logits.values[2] > 0.99F);
    Mask probabilities{1, 3, {0, 0.25F, 1}};
    finish_mask(recipe, probabilities);
    CHECK(probabilities.values[1] == 0.25F);
    recipe.min_max = true;
    recipe.sigmoid_if_logits = false;
    Mask mask{1, 4, {2, 3, 4, NAN}};
    finish_mask(recipe, mask);
    CHECK(mask.values == std::vector<float>{0.5F, 0.75F, 1, 0});
    Mask constant{1, 2, {0.25F, 0.25F}};
    finish_mask(recipe, constant);
    CHECK(constant.values == std::vector<float>{0.25F, 0.25F});
}

TEST_CASE("half precision rounds to the nearest, and back") {
    for (std::uint32_t half = 0; half < 0x10000; ++half) {
        const auto value = float_of(static_cast<std::uint16_t>(half));
        if (!std::isnan(value)) {
            REQUIRE(half_of(value) == half);
        }
    }
    CHECK(float_of(half_of(1.0F / 3)) == doctest::Approx(1.0 / 3).epsilon(0.0005));
    CHECK(std::isinf(float_of(half_of(70'000))));
    CHECK(half_of(65'504) == 0x7bff);
    CHECK(half_of(65'519) == 0x7bff);
    CHECK(half_of(65'520) == 0x7c00);
    CHECK(std::isnan(float_of(half_of(NAN))));
}

TEST_CASE("a missing library is reported with what was tried and the way out") {
    const auto why = refusal([] { Runtime::open("/no/such/libonnxruntime.so"); });
    CHECK_MESSAGE(contains(why, "'/no/such/libonnxruntime.so'"), why);
    CHECK_MESSAGE(contains(why, "pip install onnxruntime"), why);
    CHECK_MESSAGE(contains(why, "SOTTO_ONNXRUNTIME"), why);
}
