// Fuzzes answers, some through a reader that returns arbitrary deltas: the accumulated deltas equal the final
// answer, and the text does not depend on how the tokens split it.
//
// The first byte selects the request's options, the second the split; then come lines of stop sequences up to
// an empty line, and the text. A reader's deltas are lines too, as JSON or malformed.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/request/answer.hpp"
#include "text/json_reader.hpp"
#include "text/utf8_stream.hpp"

namespace {

using sotto::Delta;

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

std::string_view next_line(std::string_view& rest) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    return line;
}

struct Asked {
    sotto::ParsedRequest parsed;
    bool read = false;
    bool full = false; // the stream ends for lack of space
    std::size_t piece = 1;
    std::string_view text;
};

Asked asked_of(std::string_view input) {
    Asked asked;
    const auto how = static_cast<unsigned char>(input[0]);
    asked.read = (how & 1) != 0;
    asked.parsed.logprobs = asked.parsed.return_tokens = (how & 2) != 0;
    asked.full = (how & 4) != 0;
    asked.parsed.echo = (how & 8) != 0 ? "once " : "";
    asked.parsed.max_tokens = (how & 16) != 0 ? 1 + how / 32U : UINT32_MAX;
    asked.piece = 1 + static_cast<unsigned char>(input[1]) % 16U;
    input.remove_prefix(2);
    for (auto line = next_line(input); !line.empty(); line = next_line(input)) {
        if (sotto::is_utf8(line) && asked.parsed.stops.size() < 16) { // JSON is UTF-8
            asked.parsed.stops.emplace_back(line);
        }
    }
    asked.text = input;
    return asked;
}

// A backend's reader: each new line of the text is an array of deltas.
class LineReader : public sotto::AnswerReader {
public:
    std::string read(std::string_view text, bool last) override {
        require(text.starts_with(seen_) && sotto::is_utf8(text));
        auto rest = text.substr(read_);
        auto all = sotto::Json::array();
        while (!rest.empty() && (last || rest.find('\n') != std::string_view::npos)) {
            const auto line = next_line(rest);
            for (const auto& delta : sotto::Json::parse(line, nullptr, false)) {
                all.push_back(delta);
            }
        }
        read_ = text.size() - rest.size();
        seen_ = text;
        return all.dump();
    }

private:
    std::string seen_;
    std::size_t read_ = 0;
};

// Accumulates deltas.
struct Fold {
    std::string text;
    std::string reasoning;
    std::vector<sotto::Call> calls;
    std::vector<sotto::TokenReport> reports;
    std::vector<sotto::Call> whole;

    void add(const sotto::AnswerIncrement& increment) {
        for (const auto& delta : increment.deltas) {
            if (delta.kind != Delta::Kind::call) {
                (delta.kind == Delta::Kind::text ? text : reasoning) += delta.text;
                continue;
            }
            require(delta.call <= calls.size());
            if (delta.call == calls.size()) {
                calls.push_back({delta.id, delta.name, ""});
            }
            calls[delta.call].arguments += delta.text;
        }
        whole.insert(whole.end(), increment.calls.begin(), increment.calls.end());
        reports.insert(reports.end(), increment.reports.begin(), increment.reports.end());
    }
};

bool same(const sotto::Call& one, const sotto::Call& other) {
    return one.id == other.id && one.name == other.name && one.arguments == other.arguments;
}

// Checks that the final answer equals the accumulated deltas, and that completed calls did not change.
void check(const sotto::Answer& answer, const Fold& fold) {
    const auto& said = answer.complete();
    require(fold.text == said.text && fold.reasoning == said.reasoning && fold.reports == said.reports);
    for (std::size_t i = 0; i < said.reports.size(); ++i) { // no token is left out, and none comes twice
        require(said.reports[i].id == static_cast<std::int32_t>(i));
    }
    require((said.stop == sotto::StopType::word) == !said.stopping_word.empty());
    require(std::equal(fold.whole.begin(), fold.whole.end(), said.calls.begin(), said.calls.end(), same));
    for (const auto& call : said.calls) {
        require(sotto::Json::parse(call.arguments, nullptr, false).is_object());
        require(std::any_of(fold.calls.begin(), fold.calls.end(), [&](const auto& one) {
            return same(one, call);
        }));
    }
    require(sotto::is_utf8(said.text) && sotto::is_utf8(said.reasoning));
}

std::string answered(const Asked& asked, std::size_t piece) {
    sotto::Answer answer(asked.parsed);
    answer.opened("", asked.read);
    LineReader reader;
    Fold fold;
    std::uint32_t tokens = 0;
    for (auto rest = asked.text; !answer.ended();) {
        const auto token = rest.substr(0, piece);
        rest.remove_prefix(token.size());
        sotto_step_item work{};
        work.struct_size = sizeof work;
        work.text = {token.data(), token.size()};
        work.logprobs = {"{}", 2};
        work.generated = token.empty() ? 0 : 1;
        work.token = ++tokens;
        work.finish = !token.empty() ? SOTTO_FINISH_NONE
                      : asked.full   ? SOTTO_FINISH_LENGTH
                                     : SOTTO_FINISH_STOP;
        answer.hear(work, reader);
        const auto increment = answer.take();
        require(increment.tokens <= asked.parsed.max_tokens && increment.last == answer.ended());
        fold.add(increment);
    }
    check(answer, fold);
    return answer.complete().text;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    if (size < 2) {
        return 0;
    }
    const auto asked = asked_of(input);
    try {
        const auto text = answered(asked, asked.piece);
        if (asked.parsed.max_tokens == UINT32_MAX) {
            require(text == answered(asked, asked.text.size() + 1));
        }
    } catch (const sotto::Json::exception&) { // malformed deltas of a backend fail the answer
        require(asked.read);
    }
    return 0;
}
