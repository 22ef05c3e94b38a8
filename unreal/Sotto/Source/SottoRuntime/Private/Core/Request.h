#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "Core/Api.h"

namespace SottoCore
{

/** One question to a model, or another operation. Empty and zero fields take their defaults. */
struct FTurn
{
    std::string Session; // empty: a single question without a conversation
    std::string System;  // system message, such as a character sheet; empty: the conversation's own
    std::string Model;   // empty: the default model
    std::string Path;    // file of the model; empty: known already, or the id names the file
    std::string Text;    // what the player says
    std::string Fields;  // further body fields: a JSON object, or empty
    float TargetTps = 0;
    float Temperature = -1; // below 0: the model's default
    sotto_priority Priority = SOTTO_PRIORITY_NORMAL;
    uint32_t MaxTokens = 0;
    sotto_op Op = SOTTO_OP_CHAT; // another one: no session, and `Fields` are the body without the model
};

/** Returns `Text` as a JSON string. Text that is not UTF-8 becomes an empty string. */
std::string Quote(const FApi& Api, std::string_view Text);

/** Returns a field of a JSON object, or an empty string. */
std::string ReadField(const FApi& Api, std::string_view Json, std::string_view Name);

/** Returns the body fields of a turn, without session and messages: a JSON object. */
std::string WriteFields(const FTurn& Turn);

/** Returns the body of an operation that is no chat. */
std::string WriteOperation(const FApi& Api, const FTurn& Turn);

/** Returns the body of a chat without a session. */
std::string WriteChat(const FApi& Api, const FTurn& Turn);

} // namespace SottoCore
