// SPDX-License-Identifier: Apache-2.0
//
// Comparing stored objects, as `kubectl get -o json` prints them. Null counts as absent, as it does
// in Kubernetes. Every comparison returns what differs, for people; empty: nothing. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "test/support/apiserver/json.h"

namespace csinative::kinds {

using apiserver::Json;
using apiserver::JsonDocument;

// Two objects from the same text, written by two clients. What the server chooses for each does not
// count: UID, resource version, times of creation and of the last phase, and managedFields, which
// name the writer. Nor do their own names.
std::string CompareTwins(const Json& ours, std::string_view our_name, const Json& theirs,
                         std::string_view their_name);

// The object after a write of ours, and what it should be by then: the object before it, changed in
// the same way. Everything counts but the resource version and our own part of managedFields; the
// parts of other writers do, and the order of finalizers and conditions does not.
std::string CompareKept(const Json& expected, const Json& stored);

// The object as one of our messages has it, and as it is stored. Everything counts but
// managedFields, which our messages leave out.
std::string CompareRead(const Json& read, const Json& stored);

// Everything in `text` is in `object`, too.
std::string CompareContained(const Json& text, const Json& object);

}  // namespace csinative::kinds
