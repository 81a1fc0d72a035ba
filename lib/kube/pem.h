// SPDX-License-Identifier: Apache-2.0
//
// Looks at PEM texts before they are used. Any thread.
#pragma once

#include <string_view>

#include "lib/base/status.h"

namespace csinative::kube {

// Ok if the text holds at least one certificate and every one of them can be parsed.
// kInvalidArgument with client-go's text otherwise (kube-client 6).
Status CheckCertificates(std::string_view pem);

// Ok if the certificate and the private key can be parsed and belong together.
Status CheckKeyPair(std::string_view certificate_pem, std::string_view key_pem);

}  // namespace csinative::kube
