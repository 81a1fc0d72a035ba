// SPDX-License-Identifier: Apache-2.0
//
// Lines of a World's trace, in the shorthand of attacher 15: what the oracle calls M+, S+, AE and
// so on. "c" is S+ or S- that also clears an error; WithCode has an errorCode in front.
#pragma once

#include <string>

#include "lib/base/json_string.h"
#include "lib/base/strings.h"

namespace csinative::attacher::trace {

inline constexpr char kRefused[] = " -> 403";
inline constexpr char kGone[] = " -> 404";
inline constexpr char kConflict[] = " -> 409";

inline std::string StatusPatch(const std::string& members) {
  return StrCat(R"(PATCH volumeattachments/va1/status {"status":{)", members, "}}");
}
inline std::string Metadata(const std::string& members) {
  return StrCat(R"(PATCH volumeattachments/va1 {"metadata":{)", members, "}}");
}
inline const std::string kPrepare =  // M+
    Metadata(R"("annotations":{"csi.alpha.kubernetes.io/node-id":"nodeID1"},)"
             R"("finalizers":["external-attacher/test-csi-example"])");
inline const std::string kRelease = Metadata(R"("finalizers":null)");    // M-
inline const std::string kAttached = StatusPatch(R"("attached":true)");  // S+
inline const std::string kAttachedC = StatusPatch(R"("attachError":null,"attached":true)");
inline const std::string kDetached = StatusPatch(R"("attached":false)");  // S-
inline const std::string kDetachedC = StatusPatch(R"("attached":false,"detachError":null)");

inline std::string Error(const std::string& member, const std::string& message) {
  return StatusPatch(
      StrCat("\"", member, R"(":{"message":)", JsonString(message), R"(,"time":"T"})"));
}
inline std::string AttachError(const std::string& message) { return Error("attachError", message); }
inline std::string DetachError(const std::string& message) { return Error("detachError", message); }
// The same error once more.
inline const std::string kAttachErrorAgain = StatusPatch(R"("attachError":{"time":"T"})");
inline const std::string kDetachErrorAgain = StatusPatch(R"("detachError":{"time":"T"})");

inline const std::string kAddToVolume =  // P+
    R"(PATCH persistentvolumes/pv1 [{"op":"add","path":"/metadata/finalizers/-",)"
    R"("value":"external-attacher/test-csi-example"}])";
inline std::string RemoveFromVolume(int index) {  // P-
  const std::string path = StrCat(R"("/metadata/finalizers/)", index, "\"");
  return StrCat(R"(PATCH persistentvolumes/pv1 [{"op":"test","path":)", path,
                R"(,"value":"external-attacher/test-csi-example"},{"op":"remove","path":)", path,
                "}]");
}

inline constexpr char kPublished[] = "PUB handle1 nodeID1";
inline constexpr char kUnpublished[] = "UNPUB handle1 nodeID1";

}  // namespace csinative::attacher::trace
