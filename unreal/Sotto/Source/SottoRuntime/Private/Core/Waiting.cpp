#include "Core/Waiting.h"

#include "Core/Json.h"

namespace SottoCore
{

namespace
{

/** Submits a private request and waits for its end. `Json`: out, its result. */
FOutcome
RunAndWait(const FApi& Api, sotto_engine* Engine, sotto_op Op, const std::string& Body, std::string& Json)
{
    sotto_request_desc Desc = SOTTO_INIT(sotto_request_desc);
    Desc.op = Op;
    Desc.body = Str(Body);
    Desc.flags = SOTTO_REQUEST_PRIVATE;
    sotto_request Request = 0;
    if (const FOutcome Submitted = FOutcome::Of(Api, Api.sotto_engine_submit(Engine, &Desc, &Request));
        !Submitted)
    {
        return Submitted;
    }
    for (;;)
    {
        sotto_event Event = SOTTO_INIT(sotto_event);
        const sotto_status Status = Api.sotto_engine_wait_request_event(Engine, Request, -1, &Event);
        if (Status < 0)
        {
            return FOutcome::Of(Api, Status);
        }
        if (Status == SOTTO_OK && Event.kind == SOTTO_EVENT_REQUEST_DONE)
        {
            Json = View(Event.json);
            return {Event.status, std::string(View(Event.error))};
        }
    }
}

/** Reads the field `embedding` of an item of `data`. */
void ReadItem(FJsonReader& Reader, std::vector<std::vector<float>>& Vectors)
{
    std::string Name;
    std::vector<float> Vector;
    for (Reader.BeginObject(); Reader.NextField(Name);)
    {
        if (Name == "embedding")
        {
            Reader.Floats(Vector);
        }
        else
        {
            Reader.Raw();
        }
    }
    if (!Vector.empty())
    {
        Vectors.push_back(Vector);
    }
}

} // namespace

FOutcome EmbedAndWait(
    const FApi& Api,
    sotto_engine* Engine,
    const std::string& Model,
    const std::vector<std::string>& Texts,
    std::vector<std::vector<float>>& Vectors
)
{
    FJsonObject Body(Api);
    Body.Text("model", Model).Raw("input", WriteTexts(Api, Texts)).Text("encoding_format", "base64");
    Body.Flag("truncate", true);
    std::string Json;
    if (const FOutcome Done = RunAndWait(Api, Engine, SOTTO_OP_EMBED, Body.Write(), Json); !Done)
    {
        return Done;
    }
    FJsonReader Reader(Json);
    std::string Name;
    for (Reader.BeginObject(); Reader.NextField(Name);)
    {
        if (Name != "data")
        {
            Reader.Raw();
            continue;
        }
        for (Reader.BeginArray(); Reader.NextItem();)
        {
            ReadItem(Reader, Vectors);
        }
    }
    if (!Reader.IsValid() || Vectors.size() != Texts.size())
    {
        return {
            SOTTO_ERROR_STATE,
            "invalid embeddings of model '" + Model + "': expected " + std::to_string(Texts.size()) +
                " vectors, not " + std::to_string(Vectors.size())
        };
    }
    return {};
}

FOutcome CountTokensAndWait(
    const FApi& Api, sotto_engine* Engine, const std::string& Model, const std::string& Text, size_t& Tokens
)
{
    FJsonObject Body(Api);
    Body.Text("model", Model).Text("content", Text);
    std::string Json;
    Tokens = 0;
    if (const FOutcome Done = RunAndWait(Api, Engine, SOTTO_OP_TOKENIZE, Body.Write(), Json); !Done)
    {
        return Done;
    }
    FJsonReader Reader(Json);
    std::string Name;
    for (Reader.BeginObject(); Reader.NextField(Name);)
    {
        if (Name != "tokens")
        {
            Reader.Raw();
            continue;
        }
        for (Reader.BeginArray(); Reader.NextItem(); ++Tokens)
        {
            Reader.Raw();
        }
    }
    return Reader.IsValid() ? FOutcome() : FOutcome{SOTTO_ERROR_INTERNAL, "invalid tokens"};
}

} // namespace SottoCore
