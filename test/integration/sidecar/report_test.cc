// SPDX-License-Identifier: Apache-2.0
//
// What users of the originals ran into with the Lease (docs/compatibility.md, Reports about the
// originals).
#include <gmock/gmock.h>

#include <csignal>
#include <cstdio>

#include "test/integration/sidecar/leader_fixture.h"
#include "test/support/fault_proxy.h"

namespace csinative {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::EndsWith;

// Where the time is not the matter: a busy machine must not lose the Lease.
constexpr char kLongLease[] = "--leader-election-lease-duration=60s";
constexpr char kLongDeadline[] = "--leader-election-renew-deadline=40s";

// In front of a program: it believes to be on another machine.
const std::vector<std::string>& OnAnotherHost() {
  // Not in a user namespace: there can be none once a test of this process has changed its root.
  static const std::vector<std::string> wrapper = {"/usr/bin/unshare", "--uts", "/bin/sh", "-c",
                                                   R"(hostname another-host && exec "$0" "$@")"};
  return wrapper;
}

class ReportTest : public LeaderFixture {
 protected:
  void AddClass() {
    Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{
        "name":"sc"},"provisioner":")",
               kDriver, R"("})"));
  }
  void AddClaim(const std::string& name) {
    Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":")", name,
               R"(","namespace":"default","annotations":{
        "volume.kubernetes.io/storage-provisioner":")",
               kDriver, R"("}},"spec":{"storageClassName":"sc","accessModes":["ReadWriteOnce"],
        "resources":{"requests":{"storage":"1Gi"}}}})"));
  }
  size_t Volumes() const { return api_->api().ListObjects("", "persistentvolumes").size(); }
  // A second replica, which does not lead yet.
  Program& StartStandby(const Controller& controller, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {
        "--leader-election", "--leader-election-namespace=default",
        "--leader-election-lease-duration=3s", "--leader-election-renew-deadline=2s",
        "--leader-election-retry-period=1s"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Program& standby = Start(controller.program, ControllerArguments(std::move(arguments)),
                             {.wrapper = OnAnotherHost()});
    EXPECT_TRUE(Until([&] { return standby.Logged("Lease is held by and has not yet expired"); }))
        << standby.Stderr();
    return standby;
  }
  bool StandbyLeads(const Controller& controller) {
    return Lease(controller).find(R"("holderIdentity":"another-host")") != npos;
  }
  // From now on each write of a Lease takes so long, as with a slow etcd.
  void SlowLeases(Duration delay) {
    api_->api().set_fault_hook([delay](const apiserver::RequestInfo& request) {
      return apiserver::Fault{
          .delay = request.resource == "leases" && request.verb == "update" ? delay : Duration(0)};
    });
  }
  static double Seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
  }
};

// csi-lib-utils#66: after an outage of the API server the Lease was never renewed again, and the
// process went on without use.
class OutageTest : public ReportTest,
                   public ::testing::WithParamInterface<test::FaultProxy::Mode> {};

TEST_P(OutageTest, LeaderThatIsCutOffEndsBeforeAnotherOneLeads) {
  StartWorld();
  test::FaultProxy proxy(loop_, api_->port());
  ASSERT_TRUE(proxy.Start().ok());
  const std::string port = StrCat("127.0.0.1:", api_->port());
  ASSERT_NE(api_->Kubeconfig().find(port), npos);
  const std::string way = WriteFile(
      "through-proxy", ReplaceAll(api_->Kubeconfig(), port, StrCat("127.0.0.1:", proxy.port())));
  for (const Controller& controller : {kAttacher, kProvisioner}) {
    proxy.set_mode(test::FaultProxy::Mode::kForward);
    Program& leader =
        StartLeader(controller, {"--kubeconfig=" + way, "--http-endpoint=127.0.0.1:0"});
    EXPECT_THAT(Get("/healthz/leader-election", leader.Port()), EndsWith("\r\n\r\nok"));
    Program& standby = StartStandby(controller);

    const MonotonicTime cut = loop_.Now();
    proxy.set_mode(GetParam());
    if (GetParam() == test::FaultProxy::Mode::kRefuse) proxy.ResetConnections();
    bool both = false;
    EXPECT_TRUE(Until([&] {
      if (!StandbyLeads(controller)) return false;
      both = leader.Running();
      return true;
    }));
    // Its health is answered by nobody any more.
    EXPECT_FALSE(both);
    EXPECT_EQ(ExitCode(leader), 1);
    EXPECT_TRUE(leader.Logged("\"Stopped leading\""));
    std::printf("%s: the next one leads %.1f s after the cut\n", controller.program,
                Seconds(loop_.Now() - cut));

    // The cut-off one comes back, as its container would, and finds its place taken.
    proxy.set_mode(test::FaultProxy::Mode::kForward);
    Program& again =
        Start(controller.program, ControllerArguments({"--kubeconfig=" + way, "--leader-election",
                                                       "--leader-election-namespace=default"}));
    EXPECT_TRUE(Until([&] { return again.Logged("Lease is held by and has not yet expired"); }));
    EXPECT_TRUE(standby.Running());
    for (Program* program : {&again, &standby}) {
      program->child().Signal(SIGKILL);
      (void)ExitCode(*program);
    }
    ASSERT_TRUE(Until([&] { return api_->api().open_watches() == 0; }));
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, OutageTest,
                         ::testing::Values(test::FaultProxy::Mode::kRefuse,
                                           test::FaultProxy::Mode::kBlackHole),
                         [](const auto& info) {
                           return info.param == test::FaultProxy::Mode::kRefuse ? "Reset"
                                                                                : "BlackHole";
                         });

// democratic-csi#84, exoscale-csi-driver PR 12: renewals take longer than the deadline.
TEST_F(ReportTest, LeaderWhoseRenewalIsTooSlowEndsAtTheDeadline) {
  StartWorld();
  for (const Controller& controller : {kAttacher, kProvisioner}) {
    api_->api().set_fault_hook(nullptr);
    Program& program = StartLeader(controller);
    const MonotonicTime start = loop_.Now();
    SlowLeases(seconds(12));
    EXPECT_EQ(ExitCode(program), 1);
    // The deadline counts from the renewal, which comes after up to a retry period.
    EXPECT_GE(loop_.Now() - start, seconds(2));
    EXPECT_LE(loop_.Now() - start, seconds(2 + 1 + 3));
    EXPECT_TRUE(program.Logged("\"Failed to renew lease\""));
    EXPECT_TRUE(program.Logged("\"Stopped leading\""));
  }
}

// The same, asked for: it stands for election again, without a restart of the container.
TEST_F(ReportTest, LeaderWhoseRenewalIsTooSlowStandsAgainInItsProcess) {
  StartWorld();
  AddClass();
  Program& program = StartLeader(kProvisioner, {"--leader-election-restart-in-place"});
  SlowLeases(seconds(5));
  ASSERT_TRUE(Until([&] { return program.Logged("Starting anew to stand for election again"); }))
      << program.Stderr();
  const MonotonicTime lost = loop_.Now();
  EXPECT_EQ(program.Lines("\"Stopped leading\""), 1);
  AddClaim("while-nobody-leads");
  EXPECT_FALSE(Until([&] { return Volumes() > 0; }, milliseconds(500)));
  // The late writes come to an old version of the Lease, so they do nothing.
  api_->api().set_fault_hook(nullptr);
  ASSERT_TRUE(Until([&] { return Volumes() == 1; }, seconds(40))) << program.Stderr();
  std::printf("the next volume is there %.1f s after the loss\n", Seconds(loop_.Now() - lost));
  EXPECT_TRUE(program.Running());
  EXPECT_EQ(program.Lines("\"Successfully acquired lease\""), 2);
  // A signal still ends it.
  program.child().Signal(SIGTERM);
  EXPECT_EQ(ExitCode(program), -SIGTERM);
}

TEST_F(ReportTest, LeaderThatIsToldToEndDoesNotStandAgain) {
  StartWorld();
  for (const Controller& controller : {kAttacher, kProvisioner}) {
    Program& program = StartLeader(
        controller, {kGate, "--leader-election-restart-in-place", kLongLease, kLongDeadline});
    program.child().Signal(SIGTERM);
    EXPECT_EQ(ExitCode(program), 1);
    EXPECT_FALSE(program.Logged("Starting anew"));
  }
}

// external-attacher#609: the Lease of a leader that was told to end stayed until it ran out. Asked
// for: no new call, the one in flight is awaited, the Lease is released, the next one leads within
// two seconds, with the times that are the default.
TEST_F(ReportTest, LeaderThatIsToldToEndFinishesItsCallAndMakesRoom) {
  StartApi();
  StartDriver({"--delay=CreateVolume=3s"});
  AddClass();
  const std::vector<std::string> flags = {kGate, "--leader-election-lease-duration=15s",
                                          "--leader-election-renew-deadline=10s",
                                          "--leader-election-retry-period=5s"};
  Program& leader = StartLeader(kProvisioner, flags);
  Program& standby = StartStandby(kProvisioner, flags);
  constexpr char kCall[] = "\"GRPC call\" method=\"/csi.v1.Controller/CreateVolume\"";
  AddClaim("first");
  ASSERT_TRUE(Until([&] { return leader.Logged(kCall); }));
  leader.child().Signal(SIGTERM);
  ASSERT_TRUE(Until([&] { return leader.Logged("\"Received a signal, stopping\""); }));
  AddClaim("second");
  EXPECT_EQ(ExitCode(leader), 1);
  const MonotonicTime released = loop_.Now();
  EXPECT_EQ(leader.Lines(kCall), 1);
  EXPECT_TRUE(leader.Logged("\"Volume is saved\""));
  EXPECT_TRUE(Until([&] { return StandbyLeads(kProvisioner); }));
  EXPECT_LE(loop_.Now() - released, seconds(2));
  ASSERT_TRUE(Until([&] { return Volumes() == 2; }, seconds(30))) << standby.Stderr();
  // The leader has saved the first one before it went.
  EXPECT_EQ(standby.Lines(kCall), 1);
}

// external-attacher#241, #242: many requests to a slow API server, and the leader loses its Lease.
TEST_F(ReportTest, LeaseIsRenewedHoweverManyRequestsWait) {
  StartWorld();
  const std::vector<std::string> eager = {"--worker-threads=300", "--kube-api-qps=1000",
                                          "--kube-api-burst=2000"};
  Program& attacher = StartLeader(kAttacher, eager);
  Program& provisioner = StartLeader(kProvisioner, eager);
  size_t waiting = 0;
  api_->api().set_fault_hook([&waiting](const apiserver::RequestInfo& request) {
    const bool slow =
        request.resource != "leases" &&
        (request.verb == "patch" || request.verb == "create" || request.verb == "update");
    if (slow) ++waiting;
    return apiserver::Fault{.delay = slow ? seconds(60) : Duration(0)};
  });
  AddClass();
  Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"node"},
      "spec":{"drivers":[{"name":")",
             kDriver, R"(","nodeID":"node-1","topologyKeys":[]}]}})"));
  for (int i = 0; i < 150; ++i) {
    AddClaim(StrCat("claim-", i));
    Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv-)", i,
               R"("},"spec":{"capacity":{"storage":"1Mi"},"accessModes":["ReadWriteOnce"],
        "csi":{"driver":")",
               kDriver, R"(","volumeHandle":"handle-)", i, R"("}}})"));
    Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","metadata":{
        "name":"va-)",
               i, R"("},"spec":{"attacher":")", kDriver,
               R"(","nodeName":"node","source":{"persistentVolumeName":"pv-)", i, R"("}}})"));
  }
  // Each program has as many under way as it has connections.
  ASSERT_TRUE(Until([&] { return waiting >= 200; })) << waiting;
  const int renewed = attacher.Lines("\"Successfully renewed lease\"");
  const int renewed_too = provisioner.Lines("\"Successfully renewed lease\"");
  EXPECT_FALSE(Until([&] { return !attacher.Running() || !provisioner.Running(); }, seconds(8)));
  EXPECT_GE(attacher.Lines("\"Successfully renewed lease\""), renewed + 4);
  EXPECT_GE(provisioner.Lines("\"Successfully renewed lease\""), renewed_too + 4);
}

}  // namespace
}  // namespace csinative
