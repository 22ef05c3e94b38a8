#include "Core/Request.h"

#include <cmath>

namespace SottoCore
{

namespace
{

/** Returns what is between the braces of a JSON object. Other text stays, so that the library refuses it. */
std::string_view Inside(std::string_view Object)
{
    constexpr std::string_view kSpace = " \t\r\n";
    const size_t First = Object.find_first_not_of(kSpace);
    if (First == std::string_view::npos)
    {
        return {};
    }
    const size_t Last = Object.find_last_not_of(kSpace);
    if (Object[First] != '{' || Object[Last] != '}')
    {
        return Object;
    }
    const std::string_view Members = Object.substr(First + 1, Last - First - 1);
    return Members.find_first_not_of(kSpace) == std::string_view::npos ? std::string_view() : Members;
}

void Append(std::string& Members, const std::string& Member)
{
    Members += (Members.empty() ? "" : ", ") + Member;
}

/** Returns a number with three decimals. Does not depend on the process's locale, as printf() does. */
std::string Decimal(float Number)
{
    const long Thousandths = std::lround(static_cast<double>(Number) * 1000);
    const std::string Digits = std::to_string(1000 + Thousandths % 1000);
    return std::to_string(Thousandths / 1000) + "." + Digits.substr(1);
}

std::string WriteMembers(const FTurn& Turn)
{
    std::string Written(Inside(Turn.Fields));
    if (Turn.Temperature >= 0 && std::isfinite(Turn.Temperature))
    {
        Append(Written, "\"temperature\": " + Decimal(Turn.Temperature));
    }
    return Written;
}

} // namespace

std::string Quote(const FApi& Api, std::string_view Text)
{
    std::string Json(6 * Text.size() + 3, '\0');
    size_t Size = 0;
    if (Api.sotto_json_quote(Str(Text), Json.data(), Json.size(), &Size) < 0)
    {
        return "\"\"";
    }
    Json.resize(Size);
    return Json;
}

std::string ReadField(const FApi& Api, std::string_view Json, std::string_view Name)
{
    sotto_str Value = {};
    return Api.sotto_json_field(Str(Json), Str(Name), &Value, nullptr) < 0 ? std::string()
                                                                           : std::string(View(Value));
}

std::string WriteFields(const FTurn& Turn)
{
    return "{" + WriteMembers(Turn) + "}";
}

std::string WriteOperation(const FApi& Api, const FTurn& Turn)
{
    std::string Written = "\"model\": " + Quote(Api, Turn.Model);
    if (const std::string More = WriteMembers(Turn); !More.empty())
    {
        Append(Written, More);
    }
    return "{" + Written + "}";
}

std::string WriteChat(const FApi& Api, const FTurn& Turn)
{
    std::string Written = "\"model\": " + Quote(Api, Turn.Model) + ", \"messages\": [";
    if (!Turn.System.empty())
    {
        Written += "{\"role\": \"system\", \"content\": " + Quote(Api, Turn.System) + "}, ";
    }
    Written += "{\"role\": \"user\", \"content\": " + Quote(Api, Turn.Text) + "}]";
    if (Turn.MaxTokens != 0)
    {
        Append(Written, "\"max_tokens\": " + std::to_string(Turn.MaxTokens));
    }
    if (const std::string More = WriteMembers(Turn); !More.empty())
    {
        Append(Written, More);
    }
    return "{" + Written + "}";
}

} // namespace SottoCore
