// SPDX-License-Identifier: Apache-2.0
#include "test/bench/failovers/group.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <utility>

#include "lib/async/sleep.h"
#include "lib/base/strings.h"
#include "test/support/apiserver/json.h"

namespace csinative::failovers {
namespace {

// Resolution of what is measured.
constexpr Duration kLook = std::chrono::milliseconds(2);

// Beyond this something is wrong, not slow.
constexpr Duration kPatience = std::chrono::seconds(60);

constexpr char kLease[] = "external-attacher-leader-sample-csi-native-io";

}  // namespace

Group::Group(async::RealLoop& loop, Random& random, GroupOptions options)
    : loop_(loop),
      options_(std::move(options)),
      chance_(NewSeededRandom(options_.seed)),
      api_(loop, random),
      token_("token-" + random.Uuid()),
      load_(api_, token_) {
  api_.tokens().Add(token_, {"admin", {"system:masters", "system:authenticated"}, ""});
  for (size_t i = 0; i < replicas_.size(); ++i) {
    replicas_[i] = std::make_unique<Replica>(loop, api_, authority_,
                                             ReplicaOptions{.name = StrCat(options_.name, "-", i),
                                                            .dir = options_.dir,
                                                            .bin_dir = options_.bin_dir,
                                                            .driver_socket = options_.driver_socket,
                                                            .token = token_,
                                                            .timing = options_.timing});
  }
}

async::Task<Status> Group::Run(std::deque<Kind>* work, std::vector<Sample>* samples) {
  Status status = co_await Start();
  if (status.ok()) {
    async::TaskContext context = co_await async::CurrentContext();
    async::Scope loading(loop_, context.cancel);
    loading.Spawn(load_.Run());
    status = co_await Work(work, samples);
    co_await loading.Close();
  }
  for (const auto& replica : replicas_) co_await replica->Close();
  co_return status.ok() ? status : status.WithContext(options_.name);
}

async::Task<Status> Group::Start() {
  CSI_CO_RETURN_IF_ERROR(load_.Prepare(options_.volume_handle));
  for (const auto& replica : replicas_) {
    CSI_CO_RETURN_IF_ERROR(replica->Listen());
    CSI_CO_RETURN_IF_ERROR(replica->StartProcess());
  }
  co_return Status();
}

async::Task<Status> Group::Work(std::deque<Kind>* work, std::vector<Sample>* samples) {
  while (!work->empty()) {
    const Kind kind = work->front();
    work->pop_front();
    CSI_CO_ASSIGN_OR_RETURN(const Sample sample, co_await FailOver(kind));
    samples->push_back(sample);
  }
  co_return Status();
}

async::Task<Result<Sample>> Group::FailOver(Kind kind) {
  CSI_CO_ASSIGN_OR_RETURN(Replica * old, co_await Settle());
  const auto moment = Duration(
      static_cast<int64_t>(static_cast<double>(options_.timing.retry.count()) * chance_->Unit()));
  CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(moment));

  const MonotonicTime hit = loop_.Now();
  Hit(kind, old);
  Sample sample{.kind = kind, .timing = options_.timing};
  CSI_CO_RETURN_IF_ERROR(co_await Until(
      "another leads",
      [this, old, hit, &sample] {
        if (!sample.exit && !old->running()) sample.exit = loop_.Now() - hit;
        return !Holder().empty() && Holder() != old->name();
      },
      kPatience));
  sample.takeover = loop_.Now() - hit;
  CSI_CO_RETURN_IF_ERROR(co_await Aftermath(kind, old, hit, &sample));
  CSI_CO_RETURN_IF_ERROR(old->StartProcess());
  co_return sample;
}

async::Task<Result<Replica*>> Group::Settle() {
  Replica* leader = nullptr;
  CSI_CO_RETURN_IF_ERROR(co_await Until(
      "all take part",
      [this, &leader] {
        leader = nullptr;
        const std::string holder = Holder();
        for (const auto& replica : replicas_) {
          if (!replica->running()) return false;
          if (replica->name() == holder) {
            leader = replica.get();
          } else if (replica->lease_reads() < 2) {
            return false;
          }
        }
        return leader != nullptr && leader->writes().size() > leader->lease_writes();
      },
      kPatience));
  // From here on the moment within the period is known.
  const size_t renewals = leader->lease_writes();
  CSI_CO_RETURN_IF_ERROR(co_await Until(
      "the lease is renewed", [leader, renewals] { return leader->lease_writes() > renewals; },
      kPatience));
  co_return leader;
}

void Group::Hit(Kind kind, Replica* leader) {
  switch (kind) {
    case Kind::kKill:
      leader->process().Signal(SIGKILL);
      break;
    case Kind::kStop:
      leader->process().Signal(SIGSTOP);
      break;
    case Kind::kReset:
      leader->proxy().set_mode(test::FaultProxy::Mode::kRefuse);
      leader->proxy().ResetConnections();
      break;
    case Kind::kBlackHole:
      leader->proxy().set_mode(test::FaultProxy::Mode::kBlackHole);
      break;
  }
}

async::Task<Status> Group::Aftermath(Kind kind, Replica* old, MonotonicTime hit, Sample* sample) {
  const size_t before = old->writes().size();
  if (kind == Kind::kStop) {
    CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(std::chrono::milliseconds(chance_->Below(500))));
    hit = loop_.Now();
    old->process().Signal(SIGCONT);
  }
  CSI_CO_RETURN_IF_ERROR(
      co_await Until("the old leader exits", [old] { return !old->running(); }, kPatience));
  if (!sample->exit) sample->exit = loop_.Now() - hit;
  // What it sent with its last breath.
  CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(std::chrono::milliseconds(50)));
  sample->late_writes = old->writes().size() - before;
  for (size_t i = before; i < old->writes().size(); ++i) {
    std::printf("%s: late: %s\n", old->name().c_str(), old->writes()[i].c_str());
  }
  const int status = *old->process().Poll();
  if (kind != Kind::kKill && (!WIFEXITED(status) || WEXITSTATUS(status) != 1)) {
    co_return InternalError(StrCat(old->name(), " ended with wait status ", status));
  }
  co_return Status();
}

async::Task<Status> Group::Until(std::string what, std::function<bool()> done, Duration limit) {
  const MonotonicTime end = loop_.Now() + limit;
  while (!done()) {
    if (loop_.Now() > end) co_return DeadlineExceededError("gave up waiting until " + what);
    CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(kLook));
  }
  co_return Status();
}

std::string Group::Holder() {
  const apiserver::ObjectPtr lease =
      api_.GetObject("coordination.k8s.io", "leases", "default", kLease);
  if (lease == nullptr) return "";
  constexpr std::string_view kField = R"("holderIdentity":")";
  const size_t at = lease->json.find(kField);
  if (at == std::string::npos) return "";
  const size_t begin = at + kField.size();
  return lease->json.substr(begin, lease->json.find('"', begin) - begin);
}

}  // namespace csinative::failovers
