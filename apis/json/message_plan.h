// SPDX-License-Identifier: Apache-2.0
//
// How the fields of a message type appear in JSON, worked out once per type from its descriptor and
// the options of apis/options.proto. For the two converters of this folder. Any thread.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string_view>
#include <unordered_map>
#include <vector>

#include "apis/options.pb.h"

namespace csinative::apis {

struct MessagePlan;

struct FieldPlan {
  enum class Shape { kSingle, kList, kMap };
  // When a field that is unset or zero is written nevertheless.
  enum class Presence {
    kOmitEmpty,  // never
    kPointer,    // when it is present
    kAlways,     // by those who write like the API server
  };

  const google::protobuf::FieldDescriptor* field = nullptr;
  // The message that the field is in, when that one is inlined in the message of the plan.
  const google::protobuf::FieldDescriptor* inlined_in = nullptr;
  std::string_view name;  // owned by the descriptor
  Shape shape = Shape::kSingle;
  Presence presence = Presence::kOmitEmpty;
  bool pointer = false;  // with kAlways: null when unset
  bool is_creation_timestamp = false;
  // The field whose values are converted: `field`, or the value of its map entries.
  const google::protobuf::FieldDescriptor* value = nullptr;
  const google::protobuf::FieldDescriptor* key = nullptr;  // maps only
};

struct MessagePlan {
  JsonFormat format = FORMAT_OBJECT;
  std::vector<FieldPlan> fields;  // in the order of the schema, which is Go's
  std::unordered_map<std::string_view, const FieldPlan*> by_name;
};

// The plan lives forever. REQUIRES: a generated message type.
const MessagePlan& PlanFor(const google::protobuf::Descriptor* type);

// The submessage that holds the field, for reading and for writing.
const google::protobuf::Message& ContainerOf(const FieldPlan& plan,
                                             const google::protobuf::Message& message);
google::protobuf::Message* MutableContainerOf(const FieldPlan& plan,
                                              google::protobuf::Message* message);

}  // namespace csinative::apis
