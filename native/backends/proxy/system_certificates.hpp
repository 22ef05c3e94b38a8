// Finds the file of certificates that the system trusts.
#pragma once

#include <string>

namespace sotto::proxy {

// Returns the file that the variable SSL_CERT_FILE names, else the system's, in the order of the common
// distributions. Empty: no file was found, and the TLS library uses the system's store.
std::string system_certificates();

} // namespace sotto::proxy
