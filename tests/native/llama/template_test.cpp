// Every chat template in llama.cpp's tree: rendering, and parsing of its model's answers.
#include "golden_answer.hpp"
#include "golden_file.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <llama-grammar.h>
#include <map>
#include <memory>
#include <random>
#include <set>

using namespace golden;

namespace {

// Returns the rendered conversation or the template's error.
std::string rendered(const Template& model, Json body) {
    if (body.contains("with tools")) {
        body.erase("with tools");
        body["tools"] = tools();
    }
    try {
        return without_date(text_of(model.chat.prompt(body).parts, true));
    } catch (const sotto::llama::Error& error) {
        return std::string("! ") + error.what();
    }
}

void add_renderings(File& file, const Template& model) {
    file.add("it can", model.chat.capabilities().dump());
    for (const auto& [title, body] : conversations().items()) {
        file.add(title, rendered(model, body));
    }
}

std::size_t character(std::string_view rest) {
    std::size_t size = 1;
    while (size < rest.size() && (static_cast<unsigned char>(rest[size]) & 0xC0) == 0x80) {
        ++size;
    }
    return size;
}

Json read(const common_chat_params& how, const Json& exchange, const std::string& text, int seed) {
    sotto::llama::AnswerParser parser(how, {.tools = exchange["answer"].contains("tool_calls")});
    std::mt19937 random(static_cast<unsigned>(seed));
    return told(parser, text, [&](std::string_view rest) {
        auto size = character(rest);
        for (auto more = seed == 0 ? rest.size() : random() % 3; more > 0 && size < rest.size(); --more) {
            size += character(rest.substr(size));
        }
        return size;
    });
}

// An answer that llama.cpp parses differently from the original message.
struct Exception {
    const char* name;
    const char* title; // empty: all titles
    const char* reason;
};

constexpr const char* kWritesTrue = "the template writes True, and the form it makes knows true";
constexpr const char* kOneCall = "the form takes no second call as the template writes it";
constexpr const char* kNoThought = "llama.cpp finds no form of thoughts in the template";

constexpr const char* kMark = "llama.cpp makes a form that has the mark of arguments twice";
constexpr const char* kId = "llama.cpp makes a form that takes the call's id of its own trial alone";

constexpr Exception kExceptions[] = {
    {"Apriel-1.6-15b-Thinker-fixed", "", "the prompt begins each thought with words of its own"},
    {"ByteDance-Seed-OSS", "calls with a list", kWritesTrue},
    {"LFM2-8B-A1B", "thinks and says", kNoThought},
    {"LFM2-8B-A1B", "thinks and calls", kNoThought},
    {"LFM2.5-8B-A1B", "calls with odd letters", "the template escapes nothing in its texts"},
    {"LFM2.5-Instruct", "thinks and says", kNoThought},
    {"LFM2.5-Instruct", "thinks and calls", kNoThought},
    {"MiniMax-M1", "calls twice", kOneCall},
    {"MiniMax-M2", "calls twice", kOneCall},
    {"Mistral-Small-3.2-24B-Instruct-2506", "calls", kMark},
    {"Mistral-Small-3.2-24B-Instruct-2506", "calls with a list", kMark},
    {"Mistral-Small-3.2-24B-Instruct-2506", "thinks and calls", kMark},
    {"Mistral-Small-3.2-24B-Instruct-2506", "says and calls", kMark},
    {"Mistral-Small-3.2-24B-Instruct-2506", "calls without arguments", kMark},
    {"Mistral-Small-3.2-24B-Instruct-2506", "calls with odd letters", kMark},
    {"Mistral-Small-3.2-24B-Instruct-2506", "calls twice", kMark},
    {"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "calls with a list", kWritesTrue},
    {"Qwen3-Coder", "calls with a list", kWritesTrue},
    {"Qwen3.5-4B", "calls with a list", kWritesTrue},
    {"StepFun3.5-Flash", "calls with a list", kWritesTrue},
    {"google-gemma-4-31B-it", "says and calls", "the template puts what is said after the call"},
    {"llama-cpp-rwkv-world", "", "the template begins an answer after each, asked or not"},
    {"meetkai-functionary-medium-v3.2", "says", "the name of the addressee is read where tools are offered"},
    {"meetkai-functionary-medium-v3.2",
     "thinks and says",
     "the name of the addressee is read where tools are offered"},
    {"meetkai-functionary-medium-v3.2", "says and calls", "the form takes no call after what is said to all"},
    {"meetkai-functionary-medium-v3.2", "calls twice", kOneCall},
    {"openai-gpt-oss-120b", "says and calls", "the template shows what is said before a call as a thought"},
    {"openbmb-MiniCPM5-1B", "calls with a list", "the template writes True, and a list without its marks"},
    {"tencent-Hy3", "thinks and says", kNoThought},
    {"tencent-Hy3", "thinks and calls", kNoThought},
    {"upstage-Solar-Open-100B", "calls", kId},
    {"upstage-Solar-Open-100B", "calls with a list", kId},
    {"upstage-Solar-Open-100B", "thinks and calls", kId},
    {"upstage-Solar-Open-100B", "says and calls", kId},
    {"upstage-Solar-Open-100B", "calls without arguments", kId},
    {"upstage-Solar-Open-100B", "calls with odd letters", kId},
    {"upstage-Solar-Open-100B", "calls twice", kId},
};

const Exception* exception_of(const std::string& name, const std::string& title) {
    for (const auto& one : kExceptions) {
        if (name == one.name && (title == one.title || one.title[0] == 0)) {
            return &one;
        }
    }
    return nullptr;
}

void add_answer(File& file, const Template& model, const std::string& title, const Json& exchange) {
    CAPTURE(title);
    Generated answer;
    try {
        answer = generated(model, exchange, false);
    } catch (const sotto::llama::Error& error) {
        file.add(title, std::string("! ") + error.what());
        return;
    }
    CAPTURE(answer.text);
    file.add(title, answer.text);
    if (!answer.left_out.empty()) {
        file.add(title + ": the template leaves out", Json(answer.left_out).dump());
    }
    const auto wanted = expected(exchange, answer.left_out);
    const auto whole = read(answer.prompt.how, exchange, answer.text, 0);
    const auto pieces = read(answer.prompt.how, exchange, answer.text, 1);
    if (const auto* exception = exception_of(model.name, title)) {
        file.add(title + ": " + exception->reason, whole.dump() + "\n" + pieces.dump());
        CHECK_MESSAGE(
            (whole != wanted || pieces != wanted || exception->title[0] == 0), "no exception any more"
        );
        return;
    }
    CHECK(whole.dump() == wanted.dump());
    CHECK(pieces.dump() == wanted.dump());
}

// Templates that render no calls in history, or none that llama.cpp detects; their models cannot use tools.
const std::set<std::string> kShowNoCalls = {
    "GigaChat3-10B-A1.8B",
    "HuggingFaceTB-SmolLM3-3B",
    "LFM2-8B-A1B",
    "LFM2.5-Instruct",
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B",
    "google-gemma-2-2b-it",
    "ibm-granite-granite-3.3-2B-Instruct",
    "llama-cpp-rwkv-world",
    "microsoft-Phi-3.5-mini-instruct",
};

// Templates whose grammar does not accept the template's own calls.
const std::map<std::string, const char*> kOtherGrammar = {
    {"Mistral-Small-3.2-24B-Instruct-2506", kMark},
    {"upstage-Solar-Open-100B", kId},
    {"unsloth-Apriel-1.5", "the grammar has no room for the line break before a call"},
};

// Answers that the grammar of a forced call refuses, because it allows no text before the call: a thought
// that llama.cpp takes for content, and answers without a thought where the template has begun one.
const std::map<std::string, std::set<std::string>> kTextBefore = {
    {"tencent-Hy3", {"thinks and calls"}},
    {"Apriel-1.6-15b-Thinker-fixed", {"calls", "calls without arguments"}},
};

// Checks that a grammar accepts a whole answer and its end. Returns the error; empty: accepted.
std::string refusal(const Template& model, const Generated& answer) {
    const auto& how = answer.prompt.how;
    const auto& tokenizer = model.vocabulary.tokenizer();
    const std::unique_ptr<llama_grammar, decltype(&llama_grammar_free_impl)> grammar(
        llama_grammar_init_impl(
            model.vocabulary.vocab(), how.grammar.c_str(), "root", false, nullptr, 0, nullptr, 0
        ),
        llama_grammar_free_impl
    );
    const auto ends = [&] {
        const auto& stacks = llama_grammar_get_stacks(grammar.get());
        return std::any_of(stacks.begin(), stacks.end(), [](const auto& stack) { return stack.empty(); });
    };
    std::string taken;
    try {
        for (const auto token : tokenizer.cut(how.generation_prompt, true)) {
            llama_grammar_accept_impl(*grammar, token);
        }
        if (ends()) {
            return "nothing is enough";
        }
        for (const auto token : answer.tokens) {
            llama_grammar_accept_impl(*grammar, token);
            taken += tokenizer.piece_of(token);
        }
    } catch (const std::exception&) {
        return "no more than: " + taken;
    }
    return ends() ? "" : "no end after: " + taken;
}

} // namespace

TEST_CASE("rendering and parsing of every chat template match the recorded results") {
    for (const auto& path : template_files()) {
        CAPTURE(path.stem().string());
        const Template model(path);
        File file(model.name);
        add_renderings(file, model);
        for (const auto& [title, exchange] : exchanges().items()) {
            add_answer(file, model, title, exchange);
        }
        CHECK(file.settle() == "");
    }
}

TEST_CASE("with tool_choice required, the grammar includes the part of a call that the template writes") {
    for (const auto& path : template_files()) {
        CAPTURE(path.stem().string());
        const Template model(path);
        for (const std::string title : {"calls", "thinks and calls", "calls without arguments"}) {
            CAPTURE(title);
            Generated answer;
            try {
                answer = generated(model, exchanges().at(title), true);
            } catch (const sotto::llama::Error&) { // the golden file has the error
                continue;
            }
            CAPTURE(answer.text);
            const bool shown =
                answer.text.find(title == "calls without arguments" ? "open_gate" : "get_weather") !=
                std::string::npos;
            CHECK(shown == !kShowNoCalls.contains(model.name));
            if (shown) {
                const auto why = refusal(model, answer);
                const auto text = kTextBefore.find(model.name);
                const bool other = kOtherGrammar.contains(model.name) ||
                                   (text != kTextBefore.end() && text->second.contains(title));
                CHECK_MESSAGE(why.empty() == !other, why);
            }
        }
    }
}

// Templates that search earlier answers for reasoning markers, which are special tokens.
const std::map<std::string, std::set<std::string>> kLookForThoughts = {
    {"Cohere2MoE", {"<|START_THINKING|>", "<|END_THINKING|>"}},
    {"CohereForAI-c4ai-command-r7b-12-2024-tool_use", {"<|START_THINKING|>", "<|END_THINKING|>"}},
};

// Returns the spellings of all special tokens except `but`.
std::string spellings(const Template& model, const std::set<std::string>& but) {
    std::string all;
    for (const auto& spelling : model.vocabulary.controls()) {
        all += but.contains(spelling) ? "" : " " + spelling;
    }
    return all;
}

// User text must not become special tokens, whatever the template does with it.
TEST_CASE("no template lets user text become special tokens") {
    for (const auto& path : template_files()) {
        CAPTURE(path.stem().string());
        const Template model(path);
        const auto& tokenizer = model.vocabulary.tokenizer();
        const auto marks = kLookForThoughts.find(model.name);
        const auto whole = spellings(model, {});
        const auto answered = marks == kLookForThoughts.end() ? whole : spellings(model, marks->second);
        const auto controls = [&](const std::string& typed, const std::string& repeated) {
            const auto says = [&](const std::string& role) {
                const auto& more = role == "assistant" ? repeated : typed;
                return Json{{"role", role}, {"content", "I say" + more + " now"}};
            };
            const Json body = {{"messages", {says("system"), says("user"), says("assistant"), says("user")}}};
            const auto parts = model.chat.prompt(body).parts;
            CHECK(text_of(parts, false).find(typed) != std::string::npos);
            CHECK(text_of(parts, false).find(repeated) != std::string::npos);
            std::vector<llama_token> found;
            for (const auto token : tokenizer.cut(parts)) {
                if ((llama_vocab_get_attr(model.vocabulary.vocab(), token) & LLAMA_TOKEN_ATTR_CONTROL) != 0) {
                    found.push_back(token);
                }
            }
            return found;
        };
        CHECK(controls(whole, answered) == controls(" nothing", " nothing"));
    }
}

TEST_CASE("of a continued answer, the prefilled part is not returned") {
    const Json body = Json::parse(R"({"messages": [
        {"role": "user", "content": "Who goes there?"}, {"role": "assistant", "content": "It is"}
    ], "continue_final_message": true})");
    std::size_t parsed = 0;
    for (const auto& path : template_files()) {
        CAPTURE(path.stem().string());
        const Template model(path);
        const auto prompt = model.chat.prompt(body);
        CHECK(text_of(prompt.parts, false).ends_with("It is"));
        if (prompt.parser) { // otherwise the generated text is the content
            ++parsed;
            CHECK(told(*prompt.parser, " I, the king.", character).dump() == R"({"content":"I, the king."})");
        }
    }
    CHECK(parsed > 40);
}
