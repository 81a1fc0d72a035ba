// SPDX-License-Identifier: Apache-2.0
//
// The check: every kind is created, read, watched, changed and deleted through lib/kube, once as
// protobuf and once as JSON, beside kubectl. Loop only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/async/scope.h"
#include "lib/base/random.h"
#include "test/cluster/kinds/kubectl.h"
#include "test/cluster/kinds/steps.h"
#include "test/cluster/kinds/subject.h"

namespace csinative::kinds {

struct CheckDeps {  // borrowed; all outlive the check
  async::EventLoop& loop;
  Random& random;
  Kubectl& kubectl;
  kube::Client& protobuf;
  kube::Client& json;
};

class KindsCheck {
 public:
  // `kinds` outlives the check.
  KindsCheck(CheckDeps deps, const std::vector<Kind>& kinds);

  // The whole check, against an API server without controllers that has the definitions of the
  // custom resources (InstallDefinitions). Ok if it could run; failures() says how it went.
  async::Task<Status> Run();

  // What is wrong, for people: a paragraph each.
  const std::vector<std::string>& failures() const { return failures_; }
  size_t objects() const { return subjects_.size(); }
  size_t comparisons() const { return comparisons_; }

 private:
  using Chosen = std::vector<Subject*>;
  enum class Twin { kOurs, kTheirs };

  async::Task<Status> Prepare();
  async::Task<Status> Create();
  async::Task<Status> CompareTwinObjects();
  async::Task<Status> Read();
  async::Task<Status> LetOthersWrite();
  async::Task<Status> Change();
  async::Task<Status> Watch();
  async::Task<Status> Delete();
  async::Task<Status> FinishNamespaces();

  // Text of the object to create, from the texts of its kind.
  Result<MessagePtr> Text(const Subject& subject, const kube::ObjectName& name) const;
  // A merge patch of the status, empty where the kind's texts have none of that name.
  static std::string StatusPatch(const Subject& subject, const char* member);
  void CompareOneRead(const Subject& subject, std::string_view how, const MessagePtr& read);
  async::Task<Status> Started(Watched* watched);
  async::Task<bool> CaughtUp(const Watched* watched, std::string version);
  async::Task<Status> CheckPreconditions(Subject* subject);
  async::Task<Status> TakeFinalizersAway(Subject* subject);

  // kubectl's view of the objects, into stored_. Objects that are gone are left out.
  async::Task<Status> Fetch(Twin twin);
  // The object in it, null: it was gone.
  const JsonDocument* Stored(const Subject& subject, Twin twin) const;
  // One patch of all these objects, by kubectl.
  async::Task<Status> KubectlPatch(Chosen subjects, Twin twin, std::string type, std::string body,
                                   std::string subresource);
  Chosen Choose(bool (*condition)(const Subject&));
  void Compared(const Subject& subject, std::string_view what, const std::string& difference);
  void Fail(const Subject& subject, std::string_view what, const Status& status);

  CheckDeps deps_;
  std::vector<std::unique_ptr<Subject>> subjects_;
  std::map<std::string, JsonDocument> stored_;  // by Subject::Reference
  std::vector<std::string> failures_;
  size_t comparisons_ = 0;
  async::Scope scope_;  // of informers
};

// The definitions of custom resources in these files, changed so that objects keep fields which the
// definition does not have, as those of a later version would be kept. Returns when the API server
// serves them.
async::Task<Status> InstallDefinitions(Kubectl* kubectl, std::vector<std::string> files);

}  // namespace csinative::kinds
