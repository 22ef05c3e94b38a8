// What a test saw, as text that people can read, and its comparison with what was seen before.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace golden {

class File {
public:
    // `name` is that of a template; what was seen is kept under tests/native/llama/golden.
    explicit File(const std::string& name);

    // A stretch of it. Lines at its beginning that one before it begins with too are counted, not repeated.
    void add(const std::string& title, const std::string& text);

    // Writes it if the tests run with --write. Otherwise: empty, or how it differs from what was seen before.
    std::string settle() const;

    static bool writes; // whether the tests run with --write

private:
    std::string path_;
    std::string text_;
    std::vector<std::pair<std::string, std::vector<std::string>>> stretches_;
};

} // namespace golden
