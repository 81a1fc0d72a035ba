// SPDX-License-Identifier: Apache-2.0
//
// The two encodings of the API, protobuf and JSON, behind one set of functions (kube-client 8, 9).
// Pure; any thread.
#pragma once

#include <google/protobuf/message.h>

#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/kube/resource.h"
#include "lib/kube/transport.h"

namespace csinative::kube {

enum class Encoding { kProtobuf, kJson };

// Content-Type of bodies.
std::string_view ContentType(Encoding encoding);
// Accept of requests whose client is set to the encoding (kube-client 7).
std::string_view AcceptHeader(Encoding encoding);

// The encoding a Content-Type header names; `fallback` when the header is empty. kUnimplemented for
// a well-formed type that is neither; an API error 500 for text that is no media type.
Result<Encoding> EncodingOf(std::string_view content_type, Encoding fallback);

// A request body: an envelope, or JSON with a line feed.
std::string EncodeBody(Encoding encoding, std::string_view api_version, std::string_view kind,
                       const google::protobuf::Message& message);

// One object as it was sent. Protobuf: `bytes` is the message without its envelope. JSON: `bytes`
// is the whole object. Views into the buffer it came from.
struct EncodedObject {
  Encoding encoding = Encoding::kProtobuf;
  std::string_view api_version;  // empty where the sender leaves it out (items of lists)
  std::string_view kind;
  std::string_view bytes;
};

enum class UnknownFields { kDrop, kKeep };

// Looks at a whole body. Strings for kind and version of a JSON object live in `scratch`.
Result<EncodedObject> OpenObject(Encoding encoding, std::string_view body, std::string* scratch);
// Replaces *out. kInvalidArgument if the bytes are not such a message.
Status DecodeObject(const EncodedObject& object, UnknownFields unknown,
                    google::protobuf::Message* out);

// What a request was about, for the error the client makes up when the answer says nothing.
struct RequestSubject {
  std::string_view method;
  const ResourceInfo* resource = nullptr;  // null: none
  std::string_view name;
};

// Ok if the answer is a success; else the Status object in it or the generic error.
Status CheckAnswer(const ApiResponse& response, Encoding fallback, const RequestSubject& subject);
// The object in a successful answer that CheckAnswer has seen. kInvalidArgument for an empty body
// and for another kind than the resource's.
Status DecodeAnswer(const ApiResponse& response, Encoding fallback, const ResourceInfo& resource,
                    google::protobuf::Message* out);

}  // namespace csinative::kube
