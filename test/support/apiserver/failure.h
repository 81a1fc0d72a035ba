// SPDX-License-Identifier: Apache-2.0
//
// Failures as a Kubernetes API server answers them: an HTTP code and a Status object. Values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace csinative::apiserver {

struct Cause {
  std::string reason;  // "FieldValueInvalid", ...
  std::string message;
  std::string field;
};

struct Failure {
  int code = 500;
  std::string reason;
  std::string message;
  // Answers from before the resource was looked at carry empty details.
  bool empty_details = false;
  // details; left out of the answer when all are empty
  std::string name;
  std::string group;
  std::string kind;
  std::string uid;
  std::vector<Cause> causes;
  std::optional<int> retry_after_seconds;

  // The Status object as JSON text.
  std::string ToJson() const;
};

// What a failure is about: group and resource, e.g. {"storage.k8s.io", "storageclasses"}.
struct ResourceId {
  std::string_view group;
  std::string_view resource;
  // "storageclasses.storage.k8s.io", or just the resource in the core group.
  std::string ToString() const;
};

Failure NotFound(ResourceId resource, std::string_view name);
Failure AlreadyExists(ResourceId resource, std::string_view name);
Failure Conflict(ResourceId resource, std::string_view name, std::string_view cause);
Failure Forbidden(ResourceId resource, std::string_view name, std::string_view cause);
Failure BadRequest(std::string_view message);
Failure Invalid(std::string_view group, std::string_view kind, std::string_view name,
                std::vector<Cause> causes);
Failure MethodNotAllowed(ResourceId resource);
Failure Expired(std::string_view message);
Failure InternalError(std::string_view cause);
// What the server makes of an error it did not expect: a 500 without a reason.
Failure PlainError(std::string_view message);
// The 415 for a body in another encoding than the server reads here.
Failure UnsupportedBody(bool has_protobuf);
// The 404 for a path that no API serves.
Failure GenericNotFound();

// Field errors of validation, in the server's wording. `value` is printed as given.
Cause InvalidValue(std::string field, std::string_view value, std::string_view detail);
Cause RequiredValue(std::string field, std::string_view detail);
Cause ForbiddenValue(std::string field, std::string_view detail);
Cause UnsupportedValue(std::string field, std::string_view quoted_value,
                       const std::vector<std::string>& supported);

// A T or the Failure to answer with.
template <typename T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : rep_(std::in_place_index<0>, std::move(value)) {}            // NOLINT
  Outcome(Failure failure) : rep_(std::in_place_index<1>, std::move(failure)) {}  // NOLINT
  bool ok() const { return rep_.index() == 0; }
  T& value() { return std::get<0>(rep_); }
  const T& value() const { return std::get<0>(rep_); }
  T* operator->() { return &value(); }
  T& operator*() { return value(); }
  Failure& failure() { return std::get<1>(rep_); }
  const Failure& failure() const { return std::get<1>(rep_); }

 private:
  std::variant<T, Failure> rep_;
};

}  // namespace csinative::apiserver
