// Chat templates that would crash or hang the process: they come from untrusted model files.
#include "chat/chat.hpp"
#include "chat/jinja/limits.hpp"
#include "golden_vocabulary.hpp"

#include <chrono>
#include <doctest/doctest.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace golden;
using sotto::llama::Json;

namespace {

const std::string kPlain = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:";

std::string times(const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) {
        all += text;
    }
    return all;
}

std::string nested(const std::string& open, int count, const std::string& middle, const std::string& close) {
    return times(open, count) + middle + times(close, count);
}

// A model's chat template, on an unrelated vocabulary.
struct Model {
    Vocabulary vocabulary = Vocabulary::of_template(kPlain);
    sotto::llama::Constraints constraints{vocabulary.vocab()};

    // Returns the rendered conversation or the error; "load: ..." if the template is refused at load.
    std::string render(const std::string& source, const Json& body) const {
        std::unique_ptr<sotto::llama::Chat> chat;
        try {
            chat = std::make_unique<sotto::llama::Chat>(
                vocabulary.model(), vocabulary.tokenizer(), constraints, source
            );
        } catch (const std::exception& error) {
            return std::string("load: ") + error.what();
        }
        try {
            std::string text;
            for (const auto& part : chat->prompt(body).parts) {
                text += part.text;
            }
            return text;
        } catch (const sotto::llama::Error& error) {
            return std::string("prompt: ") + error.what();
        }
    }
};

Json said(const std::string& content) {
    return {{"messages", {{{"role", "user"}, {"content", content}}}}};
}

std::string shown(const std::string& expression) {
    std::string all("{{ ");
    all.append(expression).append(" }}");
    return all;
}

struct Case {
    std::string name;
    std::string source;
    const char* reason; // part of the error
};

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// Far above the limits, and far below the time without limits.
constexpr auto kLong = std::chrono::seconds(60);

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
constexpr std::size_t kMuch = 3000; // MiB; the sanitizer keeps freed memory, and pads the rest
constexpr int kDeep = 2000;         // levels; rendering is limited to 5 s of CPU time
#else
constexpr std::size_t kMuch = 900; // MiB
constexpr int kDeep = 20'000;
#endif

// Peak growth of the process's resident memory since construction, in MiB.
class MemoryPeak {
public:
    MemoryPeak() {
        std::ofstream("/proc/self/clear_refs") << 5; // resets the peak to the current resident memory
        before_ = peak();
    }
    std::size_t growth() const { return peak() - std::min(peak(), before_); }

private:
    static std::size_t peak() {
        std::ifstream status("/proc/self/status");
        std::string word;
        std::size_t kib = 0;
        while (status >> word && word != "VmHWM:") {
        }
        status >> kib;
        return kib >> 10;
    }
    std::size_t before_ = 0;
};

// Returns model.render(), and checks time and memory.
std::string bounded(const Model& model, const std::string& source, const Json& body) {
    const auto begun = std::chrono::steady_clock::now();
    const MemoryPeak memory;
    auto made = model.render(source, body);
    CHECK(std::chrono::steady_clock::now() - begun < kLong);
    CHECK(memory.growth() < kMuch);
    return made;
}

} // namespace

TEST_CASE("an endless template, or one that makes huge values, is refused at load") {
    const std::string set = "{% set ns = namespace(x=[], s='aaaaaaaaaaaaaaaa') %}";
    const Case cases[] = {
        {"an endless range", "{% for i in range(2000000000) %}{% endfor %}", "steps"},
        {"a huge range", "{% set x = range(1000000000) %}", "steps"},
        {"a range that overflows",
         "{% set x = range(9223372036854775800, 9223372036854775807, 5) %}",
         "a range of"},
        {"loops in loops",
         "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
         "MiB"},
        {"a text repeated", "{% set x = 'a' * 2000000000 %}", "a text of"},
        {"nothing repeated", "{% set x = '' * 2000000000 %}", "a text of"},
        {"a text doubled",
         set + "{% for i in range(40) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
         "a text of"},
        {"a list doubled",
         set + "{% set ns.x = [1,2] %}{% for i in range(40) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
         "a list of"},
        {"a macro that calls itself", "{% macro f(n) %}{{ f(n+1) }}{% endmacro %}{{ f(1) }}", "levels"},
        {"a list in itself", "{% set x = [] %}{{ x.append(x) }}{{ x }}{{ x|tojson }}", "levels"},
        {"an object in itself", "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}", ""},
        {"an object in itself as JSON",
         "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns|tojson }}",
         "levels"},
        {"a list of itself twice",
         set + "{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x|tojson }}",
         "parts"},
        {"tuples of themselves",
         set + "{% set ns.x = (1, 2) %}{% for i in range(60) %}{% set ns.x = (ns.x, ns.x) %}{% endfor %}{{ "
               "ns.x == ns.x }}",
         "parts"},
        {"a deep tuple compared",
         set + "{% set ns.x = (1, 2) %}{% for i in range(50000) %}{% set ns.x = (ns.x, 1) %}{% endfor %}{{ "
               "ns.x in [ns.x] }}",
         "levels"},
        {"a wide indent", "{{ 'a\nb'|indent(2000000000) }}", "indents by"},
        {"a wide indent of JSON", "{{ messages|tojson(indent=2000000000) }}", "indents by"},
        {"a long join", "{{ range(100000000)|join('x') }}", "steps"},
        {"a join with a long text", "{{ range(1000)|join('abcdefgh' * 9999) }}", "a text of"},
        {"replacing by a long text", "{{ ('a' * 9999)|replace('a', 'b' * 9999) }}", "a text of"},
        {"splitting a long text",
         "{% for i in range(1000) %}{% set x = ('a ' * 400000).split(' ') %}{% endfor %}",
         "steps"},
        {"searching a long text",
         "{% set x = 'a' * 900000 %}{% for i in range(1000) %}{{ ('a' * 400000 + 'b') in x }}{% endfor %}",
         "steps"},
        {"printing a text again and again",
         "{% set x = 'a' * 900000 %}{% for i in range(100000) %}{{ x }}{% endfor %}",
         "blocks"},
        {"keeping many texts",
         set + "{% for i in range(5000) %}{% set z = ns.x.append('a' * 900000 + 'b') %}{% endfor %}",
         "keeps texts"},
        {"keeping many slices of a text",
         set + "{% set x = ('a' * 1000000).replace('b', 'c') %}"
               "{% for i in range(5000) %}{% set z = ns.x.append(x[1:]) %}{% endfor %}",
         "keeps texts"},
        {"slicing a text again and again",
         "{% set x = ('a' * 1000000).replace('b', 'c') %}"
         "{% for i in range(20000) %}{% set y = x[1:1000] %}{% endfor %}",
         "steps"},
        {"keeping many slices of a list",
         set + "{% set x = range(10000) %}{% for i in range(5000) %}{% set z = ns.x.append(x[1:]) %}{% "
               "endfor %}",
         "MiB"},
        {"keeping many slices of a list that a call makes",
         set + "{% set x = range(10000) %}"
               "{% for i in range(5000) %}{% set z = ns.x.append(x.slice(1, 10000, 1)) %}{% endfor %}",
         "steps"},
        {"a text formatted with long ones",
         "{% set x = ('a' * 1000000).replace('b', 'c') %}{{ ('{}' * 20000).format(" + times("x,", 20000) +
             "x) }}",
         "a text of"},
        {"a text formatted by a filter",
         "{% set x = 'a' * 1000000 %}{{ ('{}' * 9000)|format(" + times("x,", 9000) + "x) }}",
         "a text of"},
        {"a text formatted with empty ones of many parts",
         "{% set x = '' * 1000000 %}{{ ('{}' * 9000).format(" + times("x,", 9000) + "x) }}",
         "a text of"},
        {"empty texts of many parts printed",
         "{% set x = '' * 1000000 %}{% for i in range(9000) %}{{ x }}{% endfor %}",
         "blocks"},
        {"an empty text doubled",
         "{% set ns = namespace(s='') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
         ""},
        {"a range through a variable", "{% set r = range %}{{ r(2000000000)|length }}", "steps"},
        {"text before it", std::string(300 << 10, 'x'), "bytes"},
    };
    const Model model;
    for (const auto& one : cases) {
        CAPTURE(one.name);
        const auto made = bounded(model, one.source + kPlain, said("hi"));
        CAPTURE(made.substr(0, 300));
        if (*one.reason != 0) {
            CHECK(made.starts_with("load: "));
            const bool was_slow = holds(made, "s of CPU time"); // a slow machine reaches this limit first
            CHECK((was_slow || holds(made, one.reason)));
        }
    }
}

TEST_CASE("a template nested too deep to be parsed is refused") {
    const Case cases[] = {
        {"brackets", shown(nested("(", 50000, "1", ")")), "brackets"},
        {"lists", shown(nested("[", 50000, "1", "]")), "brackets"},
        {"calls", shown(nested("f(", 20000, "", ")")), "brackets"},
        {"calls of calls", shown(std::string("f").append(times("()", 50000))), "operators"},
        {"conditions", nested("{% if true %}", 8000, "x", "{% endif %}"), "blocks"},
        {"texts", nested("{% set x %}", 8000, "x", "{% endset %}"), "blocks"},
        {"blocks that seem to end", times("{% if true %}{% endgeneration %}", 6000), "blocks"},
        {"branches",
         std::string("{% if a %}").append(times("{% elif b %}", 9000)) + "{% endif %}",
         "branches"},
        {"not", shown(times("not ", 60000) + "true"), "operators"},
        {"minus", shown(times("-", 200000) + "1"), "operators"},
        {"filters", shown(std::string("'a'").append(times("|upper", 40000))), "operators"},
        {"members", shown(std::string("a").append(times(".b", 100000))), "operators"},
        {"sums", shown(std::string("1").append(times("+1", 100000))), "operators"},
        {"choices", shown(times("1 if true else ", 16000) + "2"), "operators"},
        {"sums that can be parsed, but not computed",
         shown(std::string("1").append(times("+1", 900))),
         "levels"},
        {"names",
         [] {
             std::string all = "{{ [";
             for (int i = 0; i < 9000; ++i) {
                 all.append("v").append(std::to_string(i)).append(",");
             }
             return all + "] }}";
         }(),
         "names"},
    };
    const Model model;
    for (const auto& one : cases) {
        CAPTURE(one.name);
        const auto made = bounded(model, one.source + kPlain, said("hi"));
        CAPTURE(made.substr(0, 300));
        CHECK(made.starts_with("load: "));
        CHECK(holds(made, one.reason));
    }
}

TEST_CASE("a construct that would terminate the process fails the template") {
    const Case cases[] = {
        {"divisible by nothing", "{% if 5 is divisibleby(0) %}{% endif %}", "cannot divide"},
        {"the smallest number",
         "{% if (-9223372036854775807 - 1) is divisibleby(-1) %}{% endif %}",
         "cannot divide"},
        {"items divisible by nothing", "{{ [1,2]|select('divisibleby', 0)|list }}", "cannot divide"},
        {"sorting all sorts",
         "{{ ([1, 'b', none, 3] * 1 if false else [1, 'b', none, 3])|sort }}",
         "cannot sort"},
        {"a call block of a function", "{% call range(2000000000) %}{% endcall %}", "with a block"},
        {"a slice that overflows", "{{ messages[0:1:9223372036854775807] }}", "slice"},
    };
    const Model model;
    for (const auto& one : cases) {
        CAPTURE(one.name);
        const auto made = bounded(model, one.source + kPlain, said("hi"));
        CAPTURE(made.substr(0, 300));
        CHECK(holds(made, one.reason));
    }
}

TEST_CASE("deep or cyclic values that are never walked cost nothing") {
    const std::string deep = "{% for i in range(" + std::to_string(kDeep) + ") %}";
    const std::string set = "{% set ns = namespace(x=0) %}";
    const std::string sources[] = {
        set + deep + "{% set ns.x = [ns.x] %}{% endfor %}",
        set + deep + "{% set ns.x = {'a': ns.x} %}{% endfor %}{% set ns.x = 0 %}",
        set + deep + "{% set ns.x = [].append(a=ns.x) %}{% endfor %}",
        // Fewer iterations: each takes 0.3 ms on a slow machine, and rendering is limited to 5 s of CPU time.
        set + "{% for i in range(4000) %}{% for x in [ns.x, 1] %}{% set ns.x=loop %}{% endfor %}{% endfor %}",
        set + "{% set ns.f = ns.items %}",
        "{% set x = [] %}{% set y = x.append(x) %}",
        "{% macro m() %}{% set ns.f = caller %}{% endmacro %}" + set + "{% call m() %}a{% endcall %}",
    };
    const Model model;
    for (const auto& source : sources) {
        CAPTURE(source);
        const auto made = bounded(
            model, "{% if messages[0].content == 'hi' %}" + source + "{% endif %}" + kPlain, said("hi")
        );
        CAPTURE(made.substr(0, 300));
        CHECK(made.ends_with("user: hi\nassistant:"));
    }
}

TEST_CASE("a template that exceeds limits on some messages only fails on these") {
    const auto source =
        "{% if messages[0].content == 'now' %}{% for a in range(9999) %}{% for b in range(9999) %}"
        "{% endfor %}{% endfor %}{% endif %}" +
        kPlain;
    const Model model;
    CHECK(bounded(model, source, said("then")) == "user: then\nassistant:");
    const auto made = bounded(model, source, said("now"));
    CAPTURE(made);
    CHECK(made.starts_with("prompt: the model's chat template is refused: it "));
}

TEST_CASE("limits grow with the conversation") {
    const Model model;
    Json body = {{"messages", Json::array()}};
    std::string expected;
    for (int i = 0; i < 3000; ++i) {
        const std::string role = i % 2 == 0 ? "user" : "assistant";
        const std::string content = std::to_string(i) + times(" and more", 40);
        body["messages"].push_back({{"role", role}, {"content", content}});
        expected += role + ": " + content + "\n";
    }
    CHECK(model.render(kPlain, body) == expected + "assistant:");
    const std::string listing = "{% set ns = namespace(all=[], text='') %}{% for m in messages %}"
                                "{% set ns.all = ns.all + [m] %}{% set ns.text = ns.text + m.role %}"
                                "{% endfor %}{% set messages = ns.all %}" +
                                kPlain;
    CHECK(model.render(listing, body) == expected + "assistant:");
}

TEST_CASE("a load can be cancelled while its template is tested") {
    const Model model;
    int polled = 0;
    const auto cancelled = [&] {
        if (++polled > 3) {
            throw sotto::llama::Error(SOTTO_ERROR_CANCELLED, "cancelled");
        }
    };
    const sotto::llama::RenderLimits limits({}, cancelled);
    const auto made = bounded(
        model,
        "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}" + kPlain,
        said("hi")
    );
    CHECK(made == "load: cancelled");
    CHECK(polled == 4);
}

TEST_CASE("all renderings of one request share its time limit") {
    const Model model;
    const sotto::llama::Chat chat(
        model.vocabulary.model(),
        model.vocabulary.tokenizer(),
        model.constraints,
        "{% if messages[0].content == 'now' %}{% set r = range(1000) %}{% for a in r %}{% for b in r[:100] %}"
        "{% endfor %}{% endfor %}{% endif %}" +
            kPlain
    );
    constexpr int kMany = 1000; // far more than 5 s allow
    int polled = 0;
    const sotto::llama::RequestRenders renders([&] { ++polled; });
    const auto render_all = [&] {
        for (int i = 0; i < kMany; ++i) {
            chat.prompt(said("now"));
        }
    };
    CHECK_THROWS_WITH(
        render_all(), "the model's chat template is refused: it takes more than 5 s of CPU time to render"
    );
    CHECK(polled > 0);
}

TEST_CASE("variables and arguments of a request are limited before a template sees them") {
    const Model model;
    auto many = said("hi");
    for (int i = 0; i < 300; ++i) {
        many["chat_template_kwargs"][std::string("v").append(std::to_string(i))] = i;
    }
    CHECK(
        holds(model.render(kPlain, many), "invalid chat_template_kwargs of 300 fields: expected at most 256")
    );
    Json deep = {{"messages", {{{"role", "assistant"}, {"content", "hi"}, {"tool_calls", Json::array()}}}}};
    deep["messages"][0]["tool_calls"].push_back(
        {{"id", "a"},
         {"type", "function"},
         {"function", {{"name", "f"}, {"arguments", nested("{\"a\":", 50000, "1", "}")}}}}
    );
    CHECK(holds(model.render(kPlain, deep), "the arguments of 'f' are nested deeper than 128 levels"));
}
