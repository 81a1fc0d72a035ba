// SPDX-License-Identifier: Apache-2.0
#include "lib/csi/volume_names.h"

#include <openssl/evp.h>

#include "lib/base/strings.h"

namespace csinative::csi {

std::string Sha256Hex(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  ::EVP_Digest(bytes.data(), bytes.size(), digest, &length, ::EVP_sha256(), nullptr);
  return HexEncode({reinterpret_cast<const char*>(digest), length});
}

std::string AttachmentName(std::string_view handle, std::string_view driver,
                           std::string_view node) {
  return "csi-" + Sha256Hex(StrCat(handle, driver, node));
}

std::string UniqueVolumeName(std::string_view driver, std::string_view handle) {
  return StrCat("kubernetes.io/csi/", driver, "^", handle);
}

}  // namespace csinative::csi
