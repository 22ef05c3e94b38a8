// Splits a stream of server-sent events into the data of its events.
#pragma once

#include <string>
#include <string_view>

namespace sotto::proxy {

class EventLines {
public:
    // Adds bytes as they arrive. Throws Error(SOTTO_ERROR_INFERENCE) if an event exceeds 1 MiB.
    void feed(std::string_view bytes);
    // Takes the data of the next complete event. Returns false if no event is complete.
    bool next(std::string& data);
    // The stream has ended: an event without the empty line after it is complete too.
    void finish();

private:
    void end_line(std::string_view line);

    std::string pending_; // bytes of lines that next() has not read
    std::size_t read_ = 0;
    std::size_t searched_ = 0; // no line ends between read_ and here
    std::string data_;         // of the event that is being read
    bool has_data_ = false;
    bool is_complete_ = false;
    bool after_cr_ = false; // the last line ended with CR: an LF directly after it belongs to the line
};

} // namespace sotto::proxy
