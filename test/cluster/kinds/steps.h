// SPDX-License-Identifier: Apache-2.0
//
// The ways in which the programs change stored objects, as a table: what is sent, and what it must
// come to. Loop only.
#pragma once

#include <span>

#include "lib/async/task.h"
#include "test/cluster/kinds/subject.h"

namespace csinative::kinds {

struct Step {
  const char* name;
  bool (*applies)(const Subject& subject);
  // Writes to the object; a failure is one of the check. Subject and step outlive the task.
  async::Task<Status> (*act)(const Subject* subject, const Step* step);
  // The same change, made to a document of the object.
  void (*edit)(const Subject& subject, JsonDocument* object);
};

std::span<const Step> Steps();

// Finalizer, annotations and label that every object is created with, for steps to change.
void AddCreatedMetadata(meta::ObjectMeta* metadata);
// What kubectl puts onto objects between their creation and the steps. A JSON patch of every
// object; merge patches of every custom resource, and of its status where it has one, with fields
// that our messages do not have.
extern const char kOthersMetadata[];
extern const char kOthersUnknownFields[];
extern const char kOthersUnknownStatus[];

}  // namespace csinative::kinds
