// SPDX-License-Identifier: Apache-2.0
//
// Between the wire and the documents of the store: JSON and protobuf bodies, and the normal form
// that the server's typed round trip gives a document (unknown fields gone, quantities canonical,
// fields that Go always writes present). Pure functions; any thread.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "test/support/apiserver/failure.h"
#include "test/support/apiserver/object_store.h"

namespace csinative::apiserver {

enum class Encoding { kJson, kProtobuf };

struct DecodeOptions {
  // Receives the paths of fields that the kind does not have.
  std::vector<std::string>* unknown_fields = nullptr;
  // Receives the message behind the document, if its kind has one.
  std::unique_ptr<google::protobuf::Message>* message = nullptr;
};

// A request body as a document in normal form, with kind and apiVersion as sent (filled in when
// missing). 400 when it is not of this kind.
Outcome<JsonDocument> DecodeBody(const ResourceInfo& info, Encoding encoding, std::string_view body,
                                 const DecodeOptions& options = {});

// The normal form of a document; kinds without a schema only have their metadata normalised.
Outcome<JsonDocument> Normalize(const ResourceInfo& info, const JsonDocument& document,
                                const DecodeOptions& options = {});

// A document of any message of apis/ ("k8s.io.apimachinery.pkg.apis.meta.v1.DeleteOptions").
Outcome<JsonDocument> DecodeMessage(std::string_view message, Encoding encoding,
                                    std::string_view body);

// Saves ProtobufOf its work: `message` is what the object was made of, but for the version.
void KeepProtobuf(const Object& object, google::protobuf::Message* message);

// True when objects of this kind can be read as protobuf.
bool HasProtobuf(const ResourceInfo& info);
// True when a protobuf message holds the whole object.
bool HasSchema(const ResourceInfo& info);
// The message bytes of the object, without envelope; cached in it. REQUIRES: HasProtobuf.
const std::string& ProtobufOf(const ResourceInfo& info, const Object& object);
// The envelope around the message that the JSON text of `message` describes.
std::string JsonToEnvelope(std::string_view message, std::string_view api_version,
                           std::string_view kind, std::string_view json);

// A list response. `metadata` is the ListMeta as JSON.
std::string EncodeList(const ResourceInfo& info, Encoding encoding, std::string_view metadata,
                       const std::vector<ObjectPtr>& items);
std::string EncodeObject(const ResourceInfo& info, Encoding encoding, const Object& object);

// One event of a watch stream, framed.
std::string EncodeWatchEvent(Encoding encoding, std::string_view type, std::string_view object);

}  // namespace csinative::apiserver
