#include "backends/proxy/system_certificates.hpp"

#include <cstdlib>
#include <filesystem>

namespace sotto::proxy {

std::string system_certificates() {
    if (const char* named = std::getenv("SSL_CERT_FILE"); named != nullptr && *named != '\0') {
        return named;
    }
#ifndef _WIN32
    constexpr const char* kFiles[] = {
        "/etc/ssl/certs/ca-certificates.crt", // Debian, Ubuntu, Arch, Alpine
        "/etc/pki/tls/certs/ca-bundle.crt",   // Fedora, RHEL
        "/etc/ssl/ca-bundle.pem",             // openSUSE
        "/etc/ssl/cert.pem",
    };
    for (const char* file : kFiles) {
        std::error_code failed;
        if (std::filesystem::is_regular_file(file, failed)) {
            return file;
        }
    }
#endif
    return {};
}

} // namespace sotto::proxy
