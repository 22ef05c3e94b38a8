#include "core/control/step_output.hpp"

#include <string>
#include <string_view>

#include "module/contract.hpp"
#include "text/json_reader.hpp"

namespace sotto {
namespace {

// Parses the text that a stream generated, using the stream's backend.
class BackendReader : public AnswerReader {
public:
    BackendReader(Model& model, void* stream) : model_(model), stream_(stream) {}
    std::string read(std::string_view text, bool last) override { return model_.parse(stream_, text, last); }

private:
    Model& model_;
    void* stream_;
};

} // namespace

AnswerIncrement read_output(const sotto_step_item& work, Model& model, Answer& answer) {
    const auto logprobs = view_of(work.logprobs);
    if (!logprobs.empty() && !try_parse_json(logprobs).is_object()) {
        refuse_backend(
            model.backend(), SOTTO_ERROR_INFERENCE, "sotto_step_item.logprobs is not a JSON object"
        );
    }
    BackendReader reader(model, work.stream);
    try {
        answer.hear(work, reader);
    } catch (const Json::exception&) {
        refuse_backend(
            model.backend(), SOTTO_ERROR_INFERENCE, "stream_parse did not return a JSON array of deltas"
        );
    }
    return answer.take();
}

} // namespace sotto
