#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "Core/Api.h"

namespace SottoCore
{

/**
 * Reads JSON that the library returned, value by value, without a tree.
 *
 * Text that is not JSON is never read past its end: from the first error on, IsValid() is false, every list
 * ends, and every value is empty. The text must live as long as the reader.
 */
class FJsonReader
{
public:
    explicit FJsonReader(std::string_view InJson) : Json(InJson) {}

    bool IsValid() const { return !bFailed; }

    /** Enters an object. Read its fields while NextField() returns true. */
    void BeginObject() { Begin('{'); }
    /** Sets the name of the next field, whose value must be read or skipped. Returns false at the end. */
    bool NextField(std::string& Name);
    /** Enters an array. Read its items while NextItem() returns true. */
    void BeginArray() { Begin('['); }
    /** Returns true if there is another item, which must be read or skipped. */
    bool NextItem() { return Next(']'); }

    /** Returns the first character of the next value, or 0 at the end. */
    char Peek();
    /** Reads a string. Null is an empty one. */
    std::string Text();
    /** Reads a number. Null is 0. */
    double Number();
    /** Reads an integer. A larger number becomes the nearest integer of 64 bits. */
    int64_t Integer();
    /** Reads true or false. */
    bool Flag();
    /** Skips a value and returns its JSON. */
    std::string_view Raw();
    /** Appends the numbers of an array, or of the base64 text that holds little-endian floats. */
    void Floats(std::vector<float>& Values);

private:
    void Begin(char Bracket);
    bool Next(char Closing);
    bool Take(char Wanted);
    bool TakeWord(std::string_view Word);
    void SkipSpace();
    void SkipString();
    void Escape(std::string& Value);
    uint32_t Hex();
    void Fail();

    std::string_view Json;
    size_t At = 0;
    bool bFirst = false; // the next item is the first of its object or array
    bool bFailed = false;
};

/** Writes one JSON object, field by field. */
class FJsonObject
{
public:
    explicit FJsonObject(const FApi& InApi) : Api(InApi) {}

    FJsonObject& Text(std::string_view Name, std::string_view Value);
    FJsonObject& Number(std::string_view Name, double Value);
    FJsonObject& Integer(std::string_view Name, int64_t Value);
    FJsonObject& Flag(std::string_view Name, bool bValue);
    /** Adds a value that is JSON already. */
    FJsonObject& Raw(std::string_view Name, std::string_view Value);

    /** Returns the object. */
    std::string Write() const { return "{" + Members + "}"; }

private:
    const FApi& Api;
    std::string Members;
};

/** Returns texts as a JSON array of strings. */
std::string WriteTexts(const FApi& Api, const std::vector<std::string>& Texts);

/** Returns bytes as base64 (RFC 4648), with padding. */
std::string WriteBase64(std::string_view Bytes);

/** Returns a number as JSON, whatever the process's locale. Infinity and NaN become null. */
std::string WriteNumber(double Number);

} // namespace SottoCore
