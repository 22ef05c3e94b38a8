// Checks of weights files, before stable-diffusion.cpp reads them.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <ggml.h>

#include "abi/error.hpp"
#include "backends/diffusion/file/model_check.hpp"
#include "backends/diffusion/file/parts.hpp"

using namespace sotto;
using namespace sotto::diffusion;

namespace {

namespace fs = std::filesystem;

class Text final : public gguf::Source {
public:
    explicit Text(std::string bytes) : bytes_(std::move(bytes)) { size_ = bytes_.size(); }
    void read(std::uint64_t offset, void* out, std::size_t count) override {
        REQUIRE(offset + count <= bytes_.size());
        bytes_.copy(static_cast<char*>(out), count, static_cast<std::size_t>(offset));
    }

private:
    const std::string bytes_;
};

WeightsFile checked(const std::string& bytes, std::string_view suffix = "") {
    Text source(bytes);
    return check_weights(source, suffix);
}

std::string refusal(const auto& body) {
    try {
        body();
    } catch (const Error& error) {
        CHECK(error.status() == SOTTO_ERROR_MODEL);
        return error.what();
    }
    return "nothing was refused";
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

std::string little_endian(std::uint64_t value, int bytes = 8) {
    std::string text;
    for (int i = 0; i < bytes; ++i) {
        text.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
    }
    return text;
}

std::string safetensors(const std::string& header, std::size_t data) {
    return little_endian(header.size()) + header + std::string(data, '\0');
}

std::string
entry(const std::string& name, const std::string& type, const std::string& shape, int begin, int end) {
    return '"' + name + R"(":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":[)" +
           std::to_string(begin) + ',' + std::to_string(end) + "]}";
}

// A safetensors file with one tensor of 4 bytes.
std::string with_name(const std::string& name) {
    return safetensors('{' + entry(name, "F16", "[2]", 0, 4) + '}', 4);
}

std::string text_of(std::string_view text) {
    return little_endian(text.size()).append(text);
}

// A GGUF file with one tensor, the value general.alignment, and `data` bytes of data.
std::string
gguf_with(const std::string& name, const std::vector<std::uint64_t>& extents, int type, std::size_t data) {
    auto bytes = "GGUF" + little_endian(3, 4) + little_endian(1) + little_endian(1);
    bytes += text_of("general.alignment") + little_endian(4, 4) + little_endian(32, 4);
    bytes += text_of(name) + little_endian(extents.size(), 4);
    for (const auto extent : extents) {
        bytes += little_endian(extent);
    }
    bytes += little_endian(static_cast<std::uint64_t>(type), 4) + little_endian(0);
    bytes.resize((bytes.size() + 31) / 32 * 32);
    return bytes + std::string(data, '\0');
}

TensorFact fact(std::string name, std::vector<std::int64_t> shape = {2, 2}) {
    return {std::move(name), "F16", std::move(shape), 8};
}

WeightsFile file_of(std::vector<TensorFact> tensors) {
    return {false, 8 * tensors.size(), std::move(tensors)};
}

} // namespace

TEST_CASE("a safetensors file is described by its header") {
    const auto file = checked(safetensors(
        R"({"__metadata__":{"format":"pt"},)" + entry("b.weight", "F8_E4M3", "[2,3]", 4, 10) + ',' +
            entry("a", "F16", "[2]", 0, 4) + ',' + entry("c.alpha", "I64", "[]", 10, 18) + ',' +
            entry("v_pred", "F32", "[0]", 18, 18) + "}  ",
        18
    ));
    CHECK_FALSE(file.gguf);
    REQUIRE(file.tensors.size() == 4);
    CHECK(file.tensors[0].name == "a");
    CHECK(file.tensors[1].type == "F8_E4M3");
    CHECK(file.tensors[1].shape == std::vector<std::int64_t>{2, 3});
    CHECK(file.tensors[1].bytes == 6);
    CHECK(file.tensors[2].shape.empty());
    CHECK(file.tensors[3].bytes == 0);
}

TEST_CASE("a damaged safetensors file is refused with the reason") {
    const auto one = [](const std::string& shape, int end, const std::string& type = "F16") {
        return safetensors('{' + entry("x", type, shape, 0, end) + '}', static_cast<std::size_t>(end));
    };
    const auto two = [](int begin, int end, const std::string& second = "y") {
        return safetensors(
            '{' + entry("x", "F16", "[2]", 0, 4) + ',' + entry(second, "F16", "[2]", begin, end) + '}', 8
        );
    };
    struct Wrong {
        std::string file;
        const char* reason;
    };
    const std::string bomb = R"({"__metadata__":{"x":)" + std::string(100'000, '[');
    const std::vector<Wrong> wrong = {
        {little_endian(100'000'001) + '{', "neither a safetensors nor a GGUF file"},
        {little_endian(100'000'001) + '{' + std::string(100'000'001, ' '), "header of 100000001 bytes"},
        {safetensors(bomb, 0), "nested more than 8 deep"},
        {safetensors(R"({"x":)" + std::string(100'000, '['), 0), "header is not an object of tensors"},
        {safetensors("{}", 0), "contains no tensors"},
        {safetensors(R"({"x":5})", 0), "header is not an object of tensors"},
        {safetensors(R"({"x":{}})", 0), "invalid dtype, shape or data_offsets"},
        {safetensors(R"({"x":{"dtype":"F16","shape":[2],"data_offsets":[0]}})", 4), "invalid dtype"},
        {safetensors(R"({"x":{"dtype":"F16","dtype":"F16"}})", 4), "duplicate dtype"},
        {safetensors(R"({"x":{"dtype":"F16","shape":[2.5],"data_offsets":[0,4]}})", 4), "invalid dtype"},
        {safetensors(R"({"x":{"dtype":"F16","shape":[-2],"data_offsets":[0,4]}})", 4), "invalid dtype"},
        {safetensors(R"({"x":{"dtype":"F16","shape":[[2]],"data_offsets":[0,4]}})", 4), "invalid dtype"},
        {safetensors(R"({"x":{"dtype":7,"shape":[2],"data_offsets":[0,4]}})", 4), "invalid dtype"},
        {safetensors("{\"x\":", 0), "header is not valid JSON"},
        {safetensors('{' + entry("x", "F16", "[2]", 0, 4) + "} {", 4), "header is not valid JSON"},
        {one("[2,2]", 4), "expected 8 bytes"},
        {one("[0]", 0), "extent 0"},
        {one("[1048577]", 4), "extent 1048577"},
        {one("[1048576,1048576,1048576]", 4), "more than 2147483647 elements"},
        {one("[18446744073709551615]", 4), "invalid dtype"},
        {one("[1,1,1,1,1,2]", 4), "6 dimensions"},
        {one("[1]", 16, "C64"), "unsupported type 'C64'"},
        {one("[4]", 16, "I32"), "integers of type I32"},
        {safetensors('{' + entry("x.weight", "I64", "[1]", 0, 8) + '}', 8), "integers of type I64"},
        {two(2, 6), "data at 2; expected 4"},
        {two(6, 10), "data at 6; expected 4"},
        {two(8, 4), "data from 8 to 4"},
        {two(4, 8, "x"), "duplicate"},
        {safetensors('{' + entry("x", "F16", "[4]", 0, 8) + '}', 4), "cut short"},
        {safetensors('{' + entry("x", "F16", "[2]", 0, 4) + '}', 5), "5 bytes of data; expected 4"},
        {with_name(std::string(128, 'x')), "name of 128 bytes"},
        {with_name(""), "name of 0 bytes"},
        {with_name("a\\u0000b"), "control characters"},
        {with_name("joint_blocks.999999999.x"), "block number above 200"},
        {with_name("model.layers. +4294967297.x"), "block number above 200"},
        {with_name("cond_stage_model.model.transformer.resblocks.5"), "without a part after"},
        {with_name("x.scale_weight"), "scaled by tensors of their own"},
    };
    for (const auto& one_wrong : wrong) {
        CAPTURE(one_wrong.reason);
        const auto reason = refusal([&] { checked(one_wrong.file); });
        CHECK_MESSAGE(contains(reason, one_wrong.reason), reason);
    }
    for (const auto& name :
         {std::string(127, 'x'), std::string("blocks.200.x"), std::string("resblocks.5.x")}) {
        CHECK(checked(with_name(name)).tensors.size() == 1);
    }
}

TEST_CASE("more tensors, or more values in the header, than any model has are refused") {
    std::string header = "{";
    for (int i = 0; i <= 100'000; ++i) {
        header += (i == 0 ? "" : ",") + entry(std::to_string(i), "F16", "[1]", 2 * i, 2 * i + 2);
    }
    CHECK(
        contains(refusal([&] { checked(safetensors(header + '}', 200'002)); }), "more than 100000 tensors")
    );
    std::string values = R"({"__metadata__":{"x":[0)";
    for (int i = 0; i < 2'200'000; ++i) {
        values += ",0";
    }
    CHECK(contains(refusal([&] { checked(safetensors(values + "]}}", 0)); }), "more than 2097152 values"));
}

TEST_CASE("other files are refused with the way out") {
    struct Wrong {
        std::string file;
        const char* suffix;
        const char* reason;
    };
    const std::vector<Wrong> wrong = {
        {"", ".safetensors", "empty"},
        {std::string("PK\x03\x04 zip", 8), ".safetensors", "convert the file to safetensors"},
        {std::string("\x80\x02\x8a\x0a pickle"), "", "convert the file to safetensors"},
        {std::string(100, 'x'), ".ckpt", "convert the file to safetensors"},
        {" {\"weight_map\": {}}", ".json", "one .safetensors or .gguf file"},
        {"version https://git-lfs.github.com/spec/v1\n", ".gguf", "git lfs pull"},
        {std::string(100, '\0'), ".gguf", "neither a safetensors nor a GGUF file"},
    };
    for (const auto& one : wrong) {
        CAPTURE(one.reason);
        CHECK(contains(refusal([&] { checked(one.file, one.suffix); }), one.reason));
    }
}

TEST_CASE("a GGUF file of weights needs no values of a language model") {
    const auto file = checked(gguf_with("x.weight", {32, 2}, GGML_TYPE_Q8_0, 68));
    CHECK(file.gguf);
    REQUIRE(file.tensors.size() == 1);
    CHECK(file.tensors[0].type == "q8_0");
    CHECK(file.tensors[0].shape == std::vector<std::int64_t>{2, 32});
    CHECK(file.tensors[0].bytes == 68);
    CHECK(checked(gguf_with("x.weight", {256}, GGML_TYPE_IQ4_XS, 136)).tensors[0].type == "iq4_xs");
}

TEST_CASE("a damaged GGUF file of weights is refused with the reason") {
    const auto whole = gguf_with("x.weight", {32, 2}, GGML_TYPE_Q8_0, 68);
    struct Wrong {
        std::string file;
        const char* reason;
    };
    const std::vector<Wrong> wrong = {
        {whole.substr(0, 40), "the file ends within its header"},
        {whole.substr(0, whole.size() - 1), "the file is cut short"},
        {gguf_with("x.weight", {31, 2}, GGML_TYPE_Q8_0, 68), "expected a multiple of 32"},
        {gguf_with("x.weight", {0}, GGML_TYPE_F16, 0), "extent 0"},
        {gguf_with("x.weight", {1 << 21}, GGML_TYPE_Q4_0, 1 << 21), "extent 2097152"},
        {gguf_with("x.weight", {1, 1, 1, 1, 1}, GGML_TYPE_F16, 2), "5 dimensions"},
        {gguf_with("x.weight", {4}, GGML_TYPE_I32, 16), "integers of type i32"},
        {gguf_with("x.weight", {4}, GGML_TYPE_I8, 4), "integers of type i8"},
        {gguf_with("x.weight", {4}, GGML_TYPE_F64, 32), "unsupported type 'f64'"},
        {gguf_with("x.weight", {256}, GGML_TYPE_Q8_K, 292), "unsupported type 'q8_K'"},
        {gguf_with("x.weight", {4}, 99, 4), "unknown type 99"},
        {gguf_with(std::string(GGML_MAX_NAME, 'x'), {4}, GGML_TYPE_F16, 8), "invalid tensor name"},
        {gguf_with("caf\xC3\xA9", {4}, GGML_TYPE_F16, 8), "not ASCII"},
        {gguf_with("blk.201.x", {4}, GGML_TYPE_F16, 8), "block number above 200"},
    };
    for (const auto& one : wrong) {
        CAPTURE(one.reason);
        const auto reason = refusal([&] { checked(one.file); });
        CHECK_MESSAGE(contains(reason, one.reason), reason);
    }
}

TEST_CASE("errors name the file and the way out") {
    const auto folder = fs::temp_directory_path() / "sotto_diffusion_weights_test";
    fs::create_directories(folder);
    const auto path = folder / "Model.PTH";
    std::ofstream(path, std::ios::binary) << std::string(16, 'x');
    auto reason = refusal([&] { check_weights(path); });
    CHECK(contains(reason, "Model.PTH"));
    CHECK(contains(reason, "convert the file to safetensors"));

    std::ofstream(path, std::ios::binary | std::ios::trunc) << safetensors("{\"\n", 0);
    CHECK(contains(refusal([&] { check_weights(path); }), "; download it again"));
    std::ofstream(path, std::ios::binary | std::ios::trunc) << with_name("a");
    CHECK(check_weights(path).tensors.size() == 1);

    reason = refusal([&] { check_weights(folder); });
    CHECK(contains(reason, "a folder or a device"));
    fs::remove_all(folder);
    try {
        check_weights(path);
        FAIL("a missing file was accepted");
    } catch (const Error& error) {
        CHECK(error.status() == SOTTO_ERROR_NOT_FOUND);
    }
}

TEST_CASE("the parts of a file are known by the names of its tensors") {
    const auto parts = [](std::vector<TensorFact> tensors) { return parts_of(file_of(std::move(tensors))); };
    const auto checkpoint = parts(
        {fact("model.diffusion_model.input_blocks.0.0.weight"),
         fact("first_stage_model.decoder.conv_in.weight"),
         fact("conditioner.embedders.0.transformer.text_model.embeddings.token_embedding.weight"),
         fact("conditioner.embedders.1.model.ln_final.weight")}
    );
    CHECK(checkpoint.diffusion);
    CHECK(checkpoint.vae);
    CHECK(checkpoint.clip_l);
    CHECK(checkpoint.clip_g);
    CHECK_FALSE(checkpoint.t5);

    struct Named {
        const char* name;
        bool Parts::* part;
    };
    const std::vector<Named> names = {
        {"double_blocks.0.img_attn.qkv.weight", &Parts::diffusion},
        {"down_blocks.0.resnets.0.conv1.weight", &Parts::diffusion},
        {"text_encoders.t5xxl.transformer.shared.weight", &Parts::t5},
        {"enc.blk.0.attn_q.weight", &Parts::t5},
        {"encoder.block.0.layer.0.SelfAttention.q.weight", &Parts::t5},
        {"blk.0.attn_q.weight", &Parts::llm},
        {"model.layers.0.self_attn.q_proj.weight", &Parts::llm},
        {"decoder.conv_in.weight", &Parts::vae},
        {"decoder.layers.0.weight", &Parts::tiny_vae},
        {"control_model.input_hint_block.0.weight", &Parts::control_net},
        {"conv_first.weight", &Parts::upscaler},
        {"lora_unet_double_blocks_0_img_attn_qkv.lora_down.weight", &Parts::lora},
        {"transformer.transformer_blocks.0.attn.to_q.lora_A.weight", &Parts::lora},
        {"emb_params", &Parts::embedding},
    };
    for (const auto& one : names) {
        CAPTURE(one.name);
        CHECK(parts({fact(one.name)}).*one.part);
    }
    CHECK(parts({fact("text_model.embeddings.token_embedding.weight", {49408, 768})}).clip_l);
    CHECK(parts({fact("text_model.embeddings.token_embedding.weight", {49408, 1280})}).clip_g);
    const auto control = parts({fact("input_hint_block.0.weight"), fact("input_blocks.0.0.weight")});
    CHECK(control.control_net);
    CHECK_FALSE(control.diffusion);
    CHECK_FALSE(parts({fact("something")}).any());
}

TEST_CASE("sizes that stable-diffusion.cpp derives from shapes are checked") {
    const auto check = [](std::vector<TensorFact> tensors, std::string_view prefix = "") {
        const auto file = file_of(std::move(tensors));
        const LoadedFile loaded{file, prefix};
        return refusal([&] { check_model({&loaded, 1}); });
    };
    const auto block = fact("double_blocks.0.img_attn.qkv.weight");
    const auto head = [](std::int64_t width) {
        return fact("double_blocks.0.txt_attn.norm.key_norm.scale", {width});
    };
    constexpr std::string_view kAccepted = "nothing was refused";
    constexpr std::string_view kPrefix = "model.diffusion_model.";
    CHECK(check({block, head(128)}, kPrefix) == kAccepted);
    CHECK(contains(check({block}, kPrefix), "no tensor model.diffusion_model.double_blocks.0"));
    CHECK(contains(check({block, head(128)}, "vae."), "no tensor model.diffusion_model.double_blocks.0"));
    CHECK(contains(check({block, head(64)}, kPrefix), "extent 64"));
    CHECK(
        contains(check({fact("unet.double_blocks.0.x")}), "no tensor model.diffusion_model.double_blocks.0")
    );
    CHECK(contains(check({fact("txt_in.weight", {64, 4096})}), "extent 64"));
    CHECK(contains(check({fact("txt_in.weight", {1 << 20, 4096})}), "extent 1048576"));
    CHECK(check({fact("txt_in.weight", {3072, 4096})}) == kAccepted);
    CHECK(check({fact("x_embedder.proj.weight", {1536, 16, 2, 2})}, kPrefix) == kAccepted);
    CHECK(check({fact("x_embedder.proj.weight", {1536, 64})}, kPrefix) == kAccepted);
    CHECK(contains(check({fact("x_embedder.proj.weight", {64, 16, 2, 2})}, kPrefix), "extent 64"));
    CHECK(contains(check({fact("decoder.conv_in.weight", {8192, 4, 3, 3})}, "vae."), "extent 8192"));

    const auto table = [](std::int64_t rows) { return fact("model.embed_tokens.weight", {rows, 2560}); };
    CHECK(check({table(151'936)}, "text_encoders.llm.") == kAccepted);
    CHECK(contains(check({table(131'072)}, "text_encoders.llm."), "131072 tokens"));
    CHECK(check({table(131'072), fact("layers.0.adaLN_sa_ln.weight")}, "text_encoders.llm.") == kAccepted);
    CHECK(check({table(100)}, "text_encoders.t5xxl.transformer.") == kAccepted);
}

TEST_CASE("a LoRA of more tensors than stable-diffusion.cpp has room for is refused") {
    CHECK(refusal([] {
              check_lora(file_of(std::vector<TensorFact>(32'000, fact("x"))));
          }) == "nothing was refused");
    CHECK(contains(
        refusal([] { check_lora(file_of(std::vector<TensorFact>(32'001, fact("x")))); }), "at most 32000"
    ));
}
