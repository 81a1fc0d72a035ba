// SPDX-License-Identifier: Apache-2.0
//
// Which encoding a request has and which one its answer gets. Pure functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "test/support/apiserver/codec.h"

namespace csinative::apiserver {

// What an Accept header asks for.
struct Negotiated {
  Encoding encoding = Encoding::kJson;
  // The client wants only the metadata of objects (`as=PartialObjectMetadata`).
  bool metadata_only = false;
};

// The best of what the client accepts; nullopt: 406. An absent header accepts anything.
std::optional<Negotiated> NegotiateResponse(std::optional<std::string_view> accept,
                                            bool has_protobuf);
// nullopt: 415.
std::optional<Encoding> EncodingOfBody(std::optional<std::string_view> content_type,
                                       bool has_protobuf);
std::string_view MediaType(Encoding encoding);
// "application/json" of "application/json; charset=utf-8", in lower case.
std::string BareMediaType(std::string_view content_type);

}  // namespace csinative::apiserver
