// Decode speed with a JSON schema and without, interleaved: one JSON object on stdout.
//
//     sotto_bench_structured model=<file> words=<file> streams=<n> tokens=<n> turns=<n> temperature=<t>
//
// Each turn decodes the same prompts twice, `streams` requests at once: once without a schema, once with one
// whose answers cannot end before `tokens`. The order of the two alternates.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "support/engine.hpp"

using namespace bench;

namespace {

// What a character of a game answers, again and again: a line, a mood, a whole number, a decimal number.
constexpr const char* kSchema = R"({
    "type": "array", "minItems": 64, "maxItems": 128,
    "items": {
        "type": "object",
        "properties": {
            "say": {"type": "string", "minLength": 16, "maxLength": 120},
            "emotion": {"enum": ["calm", "happy", "sad", "angry", "afraid"]},
            "price": {"type": "integer", "minimum": 1, "maximum": 500},
            "trust": {"type": "number", "minimum": 0, "maximum": 1}
        },
        "required": ["say", "emotion", "price", "trust"],
        "additionalProperties": false
    }
})";

struct Wanted {
    std::string model;
    std::string words;
    std::uint32_t streams;
    std::uint32_t tokens;
    std::uint32_t turns;
    double temperature;
};

sotto_engine_desc whole_machine() {
    auto desc = SOTTO_INIT(sotto_engine_desc);
    desc.mode = SOTTO_MODE_PRIORITIZE_COMPUTE;
    return desc;
}

class Bench {
public:
    explicit Bench(const Wanted& wanted) : wanted_(wanted), words_(wanted.words), engine_(whole_machine()) {
        constexpr std::uint32_t kSpare = 16;
        engine_.load(
            wanted.model,
            format(
                R"({"parallel": %u, "context": %u})",
                wanted.streams,
                wanted.streams * (kPrompt + wanted.tokens + kSpare)
            )
        );
    }

    // Tokens a second of all streams together.
    double decode(bool with_schema, std::uint32_t turn) {
        std::vector<sotto_request> requests;
        for (std::uint32_t stream = 0; stream < wanted_.streams; ++stream) {
            requests.push_back(submit(with_schema, stream, turn));
        }
        double tokens = 0;
        double longest_ms = 0;
        for (const auto request : requests) {
            const auto told = engine_.wait(request);
            const auto decoded = number_in(told.json, "predicted_n");
            if (decoded < wanted_.tokens / 2) {
                die(format("an answer ended after %.0f tokens: ", decoded) + told.json);
            }
            tokens += decoded;
            longest_ms = std::max(longest_ms, number_in(told.json, "predicted_ms"));
        }
        return tokens / longest_ms * 1000;
    }

private:
    static constexpr std::uint32_t kPrompt = 32;

    sotto_request submit(bool with_schema, std::uint32_t stream, std::uint32_t turn) {
        const auto prompt = words_.sentence(kPrompt - 1, kind_of(stream, turn));
        const auto schema = with_schema ? std::string(R"("json_schema": )") + kSchema + ", " : "";
        auto desc = SOTTO_INIT(sotto_request_desc);
        desc.op = SOTTO_OP_COMPLETION;
        desc.flags = SOTTO_REQUEST_PRIVATE;
        return engine_.submit(
            desc,
            format(
                R"({"model": "m", "temperature": %.2f, "seed": %u, "ignore_eos": true, "max_tokens": %u, )",
                wanted_.temperature,
                stream + 1,
                wanted_.tokens
            ) + schema +
                R"("prompt": ")" + prompt + R"("})"
        );
    }

    Wanted wanted_;
    Words words_;
    Engine engine_;
};

} // namespace

int main(int count, char** given) {
    const Arguments arguments(count, given, "model= words= streams= tokens= turns= temperature=");
    const Wanted wanted{
        .model = arguments.text("model"),
        .words = arguments.text("words"),
        .streams = arguments.count("streams"),
        .tokens = arguments.count("tokens"),
        .turns = arguments.count("turns"),
        .temperature = arguments.number("temperature"),
    };
    Bench bench(wanted);
    bench.decode(false, 0);
    bench.decode(true, 0); // from here on the weights and the grammar are in memory
    std::vector<double> speeds[2];
    for (std::uint32_t turn = 1; turn <= wanted.turns; ++turn) {
        for (const bool with_schema : {turn % 2 == 0, turn % 2 != 0}) {
            speeds[with_schema ? 1 : 0].push_back(bench.decode(with_schema, turn));
        }
    }
    std::printf(
        "{\"plain_tps\": %s, \"schema_tps\": %s}\n", array(speeds[0], 2).c_str(), array(speeds[1], 2).c_str()
    );
}
