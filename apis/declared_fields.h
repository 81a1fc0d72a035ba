// SPDX-License-Identifier: Apache-2.0
//
// Parsing of objects of which only the declared fields are wanted. The library can only parse
// everything and drop the rest afterwards, for which it walks through all fields of all messages
// and allocates in each; managedFields are half of a stored object and never declared. Any thread.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

namespace csinative::apis {

// Replaces the content of *message. False: these bytes are not such a message.
bool ParseDeclaredFields(std::string_view bytes, google::protobuf::Message* message);

// As Message::DiscardUnknownFields, without allocations.
void DropUnknownFields(google::protobuf::Message* message);

// The object without metadata.managedFields, in *scratch; the object itself if it has none or is
// malformed. For objects, whose metadata is field 1.
std::string_view WithoutManagedFields(std::string_view object, std::string* scratch);

}  // namespace csinative::apis
