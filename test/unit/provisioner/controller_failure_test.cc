// SPDX-License-Identifier: Apache-2.0
//
// Attempts that do not succeed: states, events, retries, and what is remembered of a claim
// (provisioner 6, 10.1, 11, 12, 22.4, 22.14).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "lib/base/strings.h"
#include "test/support/oracle_rows.h"
#include "test/unit/provisioner/world.h"

namespace csinative::provisioner {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using CreateRequest = ::csi::v1::CreateVolumeRequest;
using CreateResponse = ::csi::v1::CreateVolumeResponse;
using DeleteRequest = ::csi::v1::DeleteVolumeRequest;

constexpr char kFailed[] = "controller_persistentvolumeclaim_provision_failed_total";
constexpr char kSucceeded[] = "controller_persistentvolumeclaim_provision_total";

class FailureTest : public ::testing::Test {
 protected:
  // One claim that is tried once.
  void TryOnce(const ClassSpec& klass = {}, const ClaimSpec& claim = {}) {
    world_.AddClass(klass);
    uid_ = world_.AddClaim(claim);
    world_.Start();
  }
  bool InProgress() { return world_.controller().claim_sync().InProgress(uid_); }
  std::string FailureEvent() {
    for (const std::string& event : world_.Events()) {
      if (event.starts_with("Warning ProvisioningFailed: ")) return event;
    }
    return "";
  }
  size_t CreateCalls() { return world_.Requests<CreateRequest>(kCreateVolume).size(); }

  World world_;
  std::string uid_;
};

struct RefusedCase {
  std::string rows = "";  // of the oracle
  std::string name;       // situation
  ClassSpec klass = {};
  ClaimSpec claim = {};
  void (*prepare)(World& world) = [](World&) {};
  std::string fragment;  // of the event's text
};

void PrintTo(const RefusedCase& c, std::ostream* out) { *out << c.name; }

class RefusedTest : public FailureTest, public ::testing::WithParamInterface<RefusedCase> {};

TEST_P(RefusedTest, NeverReachesTheDriver) {
  const RefusedCase& c = GetParam();
  const oracle::Rows rows(c.rows);
  c.prepare(world_);
  TryOnce(c.klass, c.claim);
  EXPECT_THAT(world_.Calls(), IsEmpty());
  EXPECT_THAT(world_.Writes(), IsEmpty());
  EXPECT_THAT(FailureEvent(), HasSubstr("Warning ProvisioningFailed: "));
  EXPECT_THAT(FailureEvent(), HasSubstr(c.fragment));
  EXPECT_FALSE(InProgress());
  // It is tried again by back-off.
  world_.Advance(seconds(3));
  EXPECT_GE(
      world_.Counter(kFailed, {"sc", c.claim.extra_spec.find("dataSource") == std::string::npos
                                         ? ""
                                         : "VolumeSnapshot"}),
      2)
      << Join(world_.Events(), "\n");
}

INSTANTIATE_TEST_SUITE_P(
    Rows, RefusedTest,
    ::testing::Values(
        RefusedCase{.name = "driver without CONTROLLER_SERVICE",
                    .prepare = [](World& world) { world.features.controller_service = false; },
                    .fragment = "CONTROLLER_SERVICE"},
        RefusedCase{.name = "driver without CREATE_DELETE_VOLUME",
                    .prepare = [](World& world) { world.features.create_delete_volume = false; },
                    .fragment = "CREATE_DELETE_VOLUME"},
        RefusedCase{
            .rows = "provisioner/22.3/5",
            .name = "two file system types",
            .klass = {.parameters = R"({"fstype":"ext3","csi.storage.k8s.io/fstype":"ext4"})"},
            .fragment = "fstype specified in parameters with both \"fstype\" and "
                        "\"csi.storage.k8s.io/fstype\" keys"},
        RefusedCase{.rows = "provisioner/22.4/16",
                    .name = "provisioner secret name without namespace",
                    .klass = {.parameters = R"({"csiProvisionerSecretName":""})"},
                    .fragment = "failed to get name and namespace template from params: either "
                                "name and namespace for "
                                "Provisioner secrets specified, Both must be specified"},
        RefusedCase{.rows = "provisioner/22.4/17",
                    .name = "half a pair is not rescued by the default pair",
                    .klass = {.parameters = R"({"csiProvisionerSecretName":"",
                              "csi.storage.k8s.io/secret-name":"a",
                              "csi.storage.k8s.io/secret-namespace":"ns"})"},
                    .fragment = "failed to get name and namespace template from params: either "
                                "name and namespace for "
                                "Provisioner secrets specified, Both must be specified"},
        RefusedCase{.rows = "provisioner/22.4/20 provisioner/22.14/18",
                    .name = "provisioner secret is missing",
                    .klass = {.parameters = R"({"csiProvisionerSecretName":"secretx",
                              "csiProvisionerSecretNamespace":"ns"})"},
                    .fragment = "secrets \"secretx\" not found"},
        RefusedCase{.name = "unknown token in the name of a secret",
                    .klass = {.parameters =
                                  R"({"csi.storage.k8s.io/provisioner-secret-name":"a-${pvc.uid}",
                              "csi.storage.k8s.io/provisioner-secret-namespace":"ns"})"},
                    .fragment = "pvc.uid"},
        RefusedCase{.name = "annotation that the claim lacks",
                    .klass = {.parameters = R"({"csi.storage.k8s.io/node-stage-secret-name":
                              "${pvc.annotations['k']}",
                              "csi.storage.k8s.io/node-stage-secret-namespace":"ns"})"},
                    .fragment = "pvc.annotations['k']"},
        RefusedCase{
            .name = "secret without a name",
            .klass = {.parameters = R"({"csi.storage.k8s.io/node-publish-secret-namespace":"ns"})"},
            .fragment = "secret"},
        RefusedCase{.name = "unknown prefixed parameter",
                    .klass = {.parameters = R"({"csi.storage.k8s.io/bim":"x"})"},
                    .fragment = "csi.storage.k8s.io/bim"},
        RefusedCase{.rows = "provisioner/22.4/18",
                    .name = "selector",
                    .claim = {.extra_spec = R"(,"selector":{})"},
                    .fragment = "Selector is not supported"},
        RefusedCase{.rows = "provisioner/22.4/30",
                    .name = "attributes class, driver without MODIFY_VOLUME",
                    .claim = {.extra_spec = R"(,"volumeAttributesClassName":"vac")"},
                    .fragment = "MODIFY_VOLUME"},
        RefusedCase{.rows = "provisioner/22.4/31",
                    .name = "attributes class is missing",
                    .claim = {.extra_spec = R"(,"volumeAttributesClassName":"vac")"},
                    .prepare = [](World& world) { world.features.modify_volume = true; },
                    .fragment = "\"vac\" not found"},
        RefusedCase{.rows = "provisioner/22.4/32",
                    .name = "attributes class of another driver",
                    .claim = {.extra_spec = R"(,"volumeAttributesClassName":"vac")"},
                    .prepare =
                        [](World& world) {
                          world.features.modify_volume = true;
                          world.Add(R"({"apiVersion":"storage.k8s.io/v1",
                              "kind":"VolumeAttributesClass","metadata":{"name":"vac"},
                              "driverName":"other","parameters":{"a":"b"}})");
                        },
                    .fragment = "for driver other"},
        RefusedCase{.rows = "provisioner/22.6/2",
                    .name = "CSINodes with keys but no labelled node",
                    .prepare =
                        [](World& world) {
                          world.features.accessibility_constraints = true;
                          world.Add(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode",
                              "metadata":{"name":"n"},"spec":{"drivers":[{"name":"test-driver",
                              "nodeID":"x","topologyKeys":["zone"]}]}})");
                        },
                    .fragment = "error generating accessibility requirements: topologyKeys [zone] "
                                "were not found on any nodes"},
        RefusedCase{.name = "snapshot, driver without CREATE_DELETE_SNAPSHOT",
                    .claim = {.extra_spec = R"(,"dataSource":{"apiGroup":"snapshot.storage.k8s.io",
                      "kind":"VolumeSnapshot","name":"s"})"},
                    .fragment = "CREATE_DELETE_SNAPSHOT"}));

TEST_F(FailureTest, MissingClassFailsWithoutAnEvent) {
  const oracle::Row row("provisioner/22.14/7");
  world_.AddClaim();
  world_.Start();
  EXPECT_THAT(world_.Calls(), IsEmpty());
  EXPECT_THAT(world_.Events(), IsEmpty());
  EXPECT_EQ(world_.Counter(kFailed, {"sc", ""}), 1);
  world_.AddClass();
  world_.Advance(seconds(4));
  EXPECT_THAT(world_.Calls(), ElementsAre("CreateVolume"));
}

TEST_F(FailureTest, PopulatorClaimIsIgnored) {
  const oracle::Row row("provisioner/22.14/13");
  TryOnce({}, {.extra_spec = R"(,"dataSourceRef":{"apiGroup":"my.example.io",
                                 "kind":"MyPopulator","name":"p"})"});
  world_.Advance(seconds(30));
  EXPECT_THAT(world_.Calls(), IsEmpty());
  ASSERT_EQ(world_.Events().size(), 2u);
  EXPECT_THAT(world_.Events()[1], HasSubstr("external populator"));
  EXPECT_FALSE(InProgress());
  EXPECT_FALSE(world_.OnlyVolume().has_value());
  EXPECT_EQ(world_.Counter(kFailed, {"sc", "MyPopulator"}), 1);
}

TEST_F(FailureTest, FinalErrorIsRetriedWithDoublingDelays) {
  const oracle::Row row("provisioner/22.14/10");
  const oracle::Row row2("provisioner/22.14/16");
  const oracle::Row row3("provisioner/22.16/22");
  world_.driver().Fail(kCreateVolume, RpcStatus(13, "no luck"));
  TryOnce();
  EXPECT_EQ(CreateCalls(), 1u);
  EXPECT_EQ(world_.Counter(kFailed, {"sc", ""}), 1);
  EXPECT_FALSE(InProgress());
  EXPECT_EQ(FailureEvent(),
            "Warning ProvisioningFailed: rpc error: code = Internal desc = no luck");
  // Failures at 0, 1, 3, 7, 15, ... seconds.
  world_.Advance(milliseconds(500));
  EXPECT_EQ(CreateCalls(), 2u);
  world_.Advance(seconds(2));
  EXPECT_EQ(CreateCalls(), 3u);
  world_.Advance(seconds(4));
  EXPECT_EQ(CreateCalls(), 4u);
  world_.Advance(seconds(8));
  EXPECT_EQ(CreateCalls(), 5u);
}

TEST_F(FailureTest, ChangeOfTheClaimIsTriedAtOnceAndKeepsTheCount) {
  world_.driver().Fail(kCreateVolume, RpcStatus(13, "no luck"));
  TryOnce();
  world_.Advance(seconds(3));  // failures at 0, 1 and 3 s; the next is due at 7 s
  ASSERT_EQ(CreateCalls(), 3u);
  world_.Merge<core::PersistentVolumeClaim>({"ns", "claim"},
                                            R"({"metadata":{"labels":{"a":"b"}}})");
  world_.Advance(milliseconds(10));
  EXPECT_EQ(CreateCalls(), 4u);
}

TEST_F(FailureTest, UpdateDuringARetryIsNotLost) {  // field report 38
  world_.driver().FailOnce(kCreateVolume, RpcStatus(13, "first"));
  world_.driver().HandleOnce<CreateRequest, CreateResponse>(
      kCreateVolume, [](CreateRequest, CreateResponse*) -> async::Task<Status> {
        CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(seconds(2)));
        co_return RpcStatus(13, "second");
      });
  TryOnce();
  world_.Advance(seconds(1));  // the second attempt runs
  world_.Merge<core::PersistentVolumeClaim>({"ns", "claim"},
                                            R"({"metadata":{"labels":{"a":"b"}}})");
  world_.Advance(seconds(10));
  EXPECT_EQ(CreateCalls(), 3u);
  EXPECT_TRUE(world_.OnlyVolume().has_value());
}

TEST_F(FailureTest, BackgroundErrorIsRememberedAndCleared) {
  const oracle::Row row("provisioner/22.14/17");
  const oracle::Row row2("provisioner/22.14/19");
  const oracle::Row row3("provisioner/22.14/20");
  world_.driver().FailOnce(kCreateVolume, RpcStatus(4, "slow"));
  world_.driver().FailOnce(kCreateVolume, RpcStatus(10, "still slow"));
  world_.driver().FailOnce(kCreateVolume, RpcStatus(13, "no"));
  TryOnce();
  EXPECT_TRUE(InProgress());
  world_.Advance(seconds(1));
  EXPECT_EQ(CreateCalls(), 2u);
  EXPECT_TRUE(InProgress());
  world_.Advance(seconds(2));
  EXPECT_EQ(CreateCalls(), 3u);
  EXPECT_FALSE(InProgress());
}

TEST_F(FailureTest, NoChangeKeepsWhatWasKnown) {
  const oracle::Row row("provisioner/22.14/21");
  world_.AddSecret("ns", "s", "k", "dg==");
  world_.driver().FailOnce(kCreateVolume, RpcStatus(4, "slow"));
  TryOnce({.parameters = R"({"csi.storage.k8s.io/provisioner-secret-name":"s",
                             "csi.storage.k8s.io/provisioner-secret-namespace":"ns"})"});
  EXPECT_TRUE(InProgress());
  world_.Remove<core::Secret>({"ns", "s"});
  world_.Advance(seconds(1));
  EXPECT_EQ(CreateCalls(), 1u);
  EXPECT_TRUE(InProgress());
}

TEST_F(FailureTest, DeletedClaimIsDrivenToAnEnd) {
  const oracle::Row row("provisioner/22.14/22");
  world_.driver().FailOnce(kCreateVolume, RpcStatus(4, "slow"));
  TryOnce();
  ASSERT_TRUE(InProgress());
  world_.RemoveClaim("claim");
  ASSERT_FALSE(world_.Find<core::PersistentVolumeClaim>({"ns", "claim"}).has_value());
  world_.Advance(seconds(2));
  const auto requests = world_.Requests<CreateRequest>(kCreateVolume);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].SerializeAsString(), requests[1].SerializeAsString());
  const auto volume = world_.OnlyVolume();
  ASSERT_TRUE(volume.has_value());
  EXPECT_EQ(volume->spec().claimref().uid(), uid_);
  EXPECT_FALSE(InProgress());
}

// Upstream forgets the claim when it is bound elsewhere, and the volume is lost (provisioner 23.3).
TEST_F(FailureTest, ClaimThatIsBoundElsewhereIsDrivenToAnEndOnceItIsDeleted) {
  world_.driver().FailOnce(kCreateVolume, RpcStatus(4, "slow"));
  TryOnce();
  ASSERT_TRUE(InProgress());
  world_.Merge<core::PersistentVolumeClaim>({"ns", "claim"}, R"({"spec":{"volumeName":"other"}})");
  world_.Advance(minutes(20));
  EXPECT_EQ(CreateCalls(), 1u);
  world_.RemoveClaim("claim");
  world_.Settle();
  EXPECT_EQ(CreateCalls(), 2u);
  const auto volume = world_.OnlyVolume();
  ASSERT_TRUE(volume.has_value());
  EXPECT_EQ(volume->spec().claimref().uid(), uid_);
  EXPECT_FALSE(InProgress());
}

TEST_F(FailureTest, CallThatHangsEndsByTheTimeLimitAndMayStillRun) {
  world_.driver().HandleOnce<CreateRequest, CreateResponse>(
      kCreateVolume, [](CreateRequest, CreateResponse*) -> async::Task<Status> {
        co_return co_await async::Sleep(std::chrono::hours(1));
      });
  TryOnce();
  EXPECT_FALSE(InProgress());
  world_.Advance(seconds(5));  // --timeout of the fixture
  EXPECT_TRUE(InProgress());
  EXPECT_THAT(FailureEvent(), HasSubstr("code = DeadlineExceeded"));
  world_.Advance(seconds(2));
  EXPECT_TRUE(world_.OnlyVolume().has_value());
}

TEST_F(FailureTest, InfeasibleClaimIsLeftAloneForFiveMinutes) {
  const oracle::Row row("provisioner/22.16/23");
  const oracle::Row row2("provisioner/22.16/24");
  world_.driver().Fail(kCreateVolume, RpcStatus(3, "never"));
  TryOnce();
  EXPECT_EQ(CreateCalls(), 1u);
  EXPECT_THAT(FailureEvent(), HasSubstr("infeasible error"));
  EXPECT_THAT(FailureEvent(), HasSubstr("Retries will be delayed"));
  EXPECT_THAT(FailureEvent(), HasSubstr("rpc error: code = InvalidArgument desc = never"));
  EXPECT_TRUE(world_.controller().claim_sync().infeasible().Has(uid_));
  world_.Merge<core::PersistentVolumeClaim>({"ns", "claim"},
                                            R"({"metadata":{"labels":{"a":"b"}}})");
  world_.Advance(seconds(290));
  EXPECT_EQ(CreateCalls(), 1u);
  EXPECT_EQ(world_.Counter(kFailed, {"sc", ""}), 1);  // delays are not counted
  world_.Advance(seconds(10));
  world_.Merge<core::PersistentVolumeClaim>({"ns", "claim"},
                                            R"({"metadata":{"labels":{"a":"c"}}})");
  world_.Settle();
  EXPECT_EQ(CreateCalls(), 2u);
}

TEST_F(FailureTest, NewClassOfTheSameNameEndsTheWait) {
  world_.driver().FailOnce(kCreateVolume, RpcStatus(3, "never"));
  TryOnce();
  world_.Remove<storage::StorageClass>({"", "sc"});
  world_.AddClass({.parameters = R"({"a":"b"})"});
  world_.Merge<core::PersistentVolumeClaim>({"ns", "claim"},
                                            R"({"metadata":{"labels":{"a":"b"}}})");
  world_.Settle();
  EXPECT_EQ(CreateCalls(), 2u);
  EXPECT_TRUE(world_.OnlyVolume().has_value());
}

class RescheduleTest : public FailureTest {
 protected:
  RescheduleTest() {
    world_.features.accessibility_constraints = true;
    world_.Add(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"node-1",
        "labels":{"zone":"z"}}})");
    world_.Add(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"node-1"},
        "spec":{"drivers":[{"name":"test-driver","nodeID":"x","topologyKeys":["zone"]}]}})");
  }
  core::PersistentVolumeClaim Claim() {
    return world_.Find<core::PersistentVolumeClaim>({"ns", "claim"})
        .value_or(core::PersistentVolumeClaim());
  }
  bool HasNode() {
    return apis::HasEntry(Claim().metadata().annotations(), apis::kAnnSelectedNode);
  }

  const ClassSpec late_{.binding_mode = "WaitForFirstConsumer"};
};

TEST_F(RescheduleTest, NoSpaceTakesTheSelectedNodeAway) {
  const oracle::Row row("provisioner/22.14/25");
  world_.driver().FailOnce(kCreateVolume, RpcStatus(8, "full"));
  TryOnce(late_, {.selected_node = "node-1", .annotations = R"(,"keep":"me")"});
  EXPECT_FALSE(HasNode());
  EXPECT_EQ(apis::GetEntryOr(Claim().metadata().annotations(), apis::kAnnStorageProvisioner),
            kDriver);
  EXPECT_EQ(apis::GetEntryOr(Claim().metadata().annotations(), "keep"), "me");
  EXPECT_THAT(world_.Writes(), ElementsAre("PUT namespaces/ns/persistentvolumeclaims/claim"));
  EXPECT_FALSE(InProgress());
  EXPECT_EQ(world_.Counter(kFailed, {"sc", ""}), 1);
  world_.Advance(minutes(10));
  EXPECT_EQ(CreateCalls(), 1u);
  world_.Merge<core::PersistentVolumeClaim>(
      {"ns", "claim"},
      R"({"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"node-1"}}})");
  world_.Settle();
  EXPECT_TRUE(world_.OnlyVolume().has_value());
}

TEST_F(RescheduleTest, NodeThatIsGoneTakesTheSelectedNodeAway) {  // provisioner/22.4/33
  TryOnce(late_, {.selected_node = "gone"});
  EXPECT_THAT(world_.Calls(), IsEmpty());
  EXPECT_THAT(FailureEvent(), HasSubstr("failed to get selected CSINode gone"));
  EXPECT_FALSE(HasNode());
}

struct KeptNodeCase {
  std::string row;
  int code;           // of CreateVolume
  std::string klass;  // parameters
  bool in_progress;
};

class KeptNodeTest : public RescheduleTest, public ::testing::WithParamInterface<KeptNodeCase> {};

TEST_P(KeptNodeTest, OtherErrorsKeepTheNode) {
  const KeptNodeCase& c = GetParam();
  const oracle::Row row(c.row);
  world_.driver().FailOnce(kCreateVolume, RpcStatus(c.code, "no"));
  ClassSpec klass = late_;
  klass.parameters = c.klass;
  TryOnce(klass, {.selected_node = "node-1"});
  EXPECT_TRUE(HasNode());
  EXPECT_THAT(world_.Writes(), IsEmpty());
  EXPECT_EQ(InProgress(), c.in_progress);
  EXPECT_EQ(world_.Counter(kFailed, {"sc", ""}), 1);
}

INSTANTIATE_TEST_SUITE_P(Rows, KeptNodeTest,
                         ::testing::Values(KeptNodeCase{"provisioner/22.14/26", 13, "{}", false},
                                           // The secret is missing: the driver is not reached.
                                           KeptNodeCase{
                                               "provisioner/22.14/27", 8,
                                               R"({"csi.storage.k8s.io/provisioner-secret-name":"s",
                                   "csi.storage.k8s.io/provisioner-secret-namespace":"ns"})",
                                               false},
                                           KeptNodeCase{"provisioner/22.14/28", 14, "{}", true}));

TEST_F(RescheduleTest, ClaimThatChangedMeanwhileKeepsTheNodeAndIsTriedAgain) {
  world_.driver().HandleOnce<CreateRequest, CreateResponse>(
      kCreateVolume, [](CreateRequest, CreateResponse*) -> async::Task<Status> {
        CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(seconds(2)));
        co_return RpcStatus(8, "full");
      });
  TryOnce(late_, {.selected_node = "node-1"});
  world_.Merge<core::PersistentVolumeClaim>({"ns", "claim"},
                                            R"({"metadata":{"labels":{"a":"b"}}})");
  world_.Advance(seconds(3));
  EXPECT_TRUE(HasNode());
  EXPECT_THAT(world_.Writes(), ElementsAre("POST persistentvolumes"));
  EXPECT_EQ(CreateCalls(), 2u);
}

TEST_F(RescheduleTest, RetryAsksForTheSameTopologyAfterTheNodeIsGone) {  // field report 28
  world_.driver().FailOnce(kCreateVolume, RpcStatus(10, "later"));
  TryOnce(late_, {.selected_node = "node-1"});
  world_.Remove<core::Node>({"", "node-1"});
  world_.Remove<storage::CSINode>({"", "node-1"});
  world_.Advance(seconds(2));
  const auto requests = world_.Requests<CreateRequest>(kCreateVolume);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].accessibility_requirements().SerializeAsString(),
            requests[1].accessibility_requirements().SerializeAsString());
  EXPECT_TRUE(world_.OnlyVolume().has_value());
}

TEST_F(RescheduleTest, TopologyOfADeletedClaimIsForgotten) {
  const auto remembered = [this] {
    return world_.controller().provisioner().topology_memory().size();
  };
  TryOnce({.parameters = R"({"csi.storage.k8s.io/provisioner-secret-name":"missing",
                             "csi.storage.k8s.io/provisioner-secret-namespace":"ns"})"});
  ASSERT_EQ(remembered(), 1u);
  world_.RemoveClaim("claim");
  world_.Advance(minutes(1));
  EXPECT_EQ(remembered(), 0u);
  // Deleted while its attempt runs.
  world_.api().set_fault_hook([](const apiserver::RequestInfo& info) {
    apiserver::Fault fault;
    if (info.resource == "secrets") fault.delay = seconds(5);
    return fault;
  });
  world_.AddClaim();
  world_.Settle();
  ASSERT_EQ(remembered(), 1u);
  world_.RemoveClaim("claim");
  world_.Advance(minutes(1));
  EXPECT_EQ(remembered(), 0u);
}

TEST_F(FailureTest, NoSpaceWithoutTopologyIsFinal) {
  world_.driver().FailOnce(kCreateVolume, RpcStatus(8, "full"));
  TryOnce({}, {.selected_node = "node-1"});
  EXPECT_THAT(world_.Writes(), IsEmpty());
  world_.Advance(seconds(2));
  EXPECT_TRUE(world_.OnlyVolume().has_value());
}

TEST_F(FailureTest, VolumeThatIsTooSmallIsDeletedAndTriedAgain) {  // provisioner/22.4/21 and 22
  CreateResponse small;
  small.mutable_volume()->set_volume_id("test-volume-id");
  small.mutable_volume()->set_capacity_bytes(99);
  world_.driver().AnswerOnce(kCreateVolume, small);
  TryOnce();
  EXPECT_THAT(world_.Calls(), ElementsAre("CreateVolume", "DeleteVolume"));
  const auto deletes = world_.Requests<DeleteRequest>(kDeleteVolume);
  EXPECT_EQ(deletes[0].volume_id(), "test-volume-id");
  EXPECT_TRUE(deletes[0].secrets().empty());
  EXPECT_THAT(FailureEvent(), HasSubstr("99"));
  EXPECT_THAT(FailureEvent(), HasSubstr("100"));
  EXPECT_TRUE(InProgress());
  world_.Advance(seconds(1));
  EXPECT_TRUE(world_.OnlyVolume().has_value());
}

TEST_F(FailureTest, CleanUpIsTriedFiveTimesAndItsFailureIsTold) {
  CreateResponse small;
  small.mutable_volume()->set_volume_id("test-volume-id");
  small.mutable_volume()->set_capacity_bytes(1);
  world_.driver().AnswerOnce(kCreateVolume, small);
  world_.driver().Fail(kDeleteVolume, RpcStatus(13, "stuck"));
  TryOnce();
  EXPECT_EQ(world_.Requests<DeleteRequest>(kDeleteVolume).size(), 5u);
  EXPECT_THAT(FailureEvent(), HasSubstr(". Cleanup of volume pvc-" + uid_ +
                                        " failed, volume is orphaned: rpc error: code = Internal "
                                        "desc = stuck"));
}

// Provisioner 11.
TEST_F(FailureTest, VolumeThatCannotBeSavedIsSavedLater) {
  const oracle::Row row("provisioner/22.14/24");
  int refused = 0;
  world_.api().set_fault_hook([&](const apiserver::RequestInfo& info) {
    apiserver::Fault fault;
    if (info.user == "provisioner" && info.verb == "create" &&
        info.resource == "persistentvolumes" && refused < 2) {
      ++refused;
      fault.code = 403;
    }
    return fault;
  });
  TryOnce();
  world_.Advance(seconds(2));
  EXPECT_EQ(refused, 2);
  EXPECT_TRUE(world_.OnlyVolume().has_value());
  EXPECT_EQ(world_.controller().volume_saver().unsaved(), 0u);
  EXPECT_EQ(world_.Counter(kSucceeded, {"sc", ""}), 1);
  EXPECT_EQ(CreateCalls(), 1u);
  EXPECT_THAT(
      world_.Events(),
      Contains("Normal ProvisioningSucceeded: Successfully provisioned volume pvc-" + uid_));
}

TEST_F(FailureTest, VolumeIsKeptForAsLongAsItCannotBeSaved) {
  const oracle::Row row("provisioner/22.14/23");
  world_.api().set_fault_hook([&](const apiserver::RequestInfo& info) {
    apiserver::Fault fault;
    if (info.user == "provisioner" && info.verb == "create" &&
        info.resource == "persistentvolumes") {
      fault.code = 403;
    }
    return fault;
  });
  TryOnce();
  world_.Advance(minutes(1));
  const std::string name = "pvc-" + uid_;
  EXPECT_EQ(world_.controller().volume_saver().unsaved(), 1u);
  EXPECT_GT(world_.controller().volume_saver().Requeues(name), 3);
  EXPECT_EQ(world_.Counter(kSucceeded, {"sc", ""}), 1);
  // The claim is deleted: the volume is saved all the same, so that it can be deleted.
  world_.RemoveClaim("claim");
  world_.api().set_fault_hook({});
  world_.Advance(minutes(10));
  EXPECT_TRUE(world_.OnlyVolume().has_value());
  EXPECT_THAT(world_.Calls(), ElementsAre("CreateVolume"));
}

TEST_F(FailureTest, ShutdownDuringACallEndsEverything) {
  world_.driver().HandleOnce<CreateRequest, CreateResponse>(
      kCreateVolume, [](CreateRequest, CreateResponse*) -> async::Task<Status> {
        co_return co_await async::Sleep(std::chrono::hours(1));
      });
  TryOnce();
  world_.Stop();
  EXPECT_THAT(world_.Writes(), IsEmpty());
}

}  // namespace
}  // namespace csinative::provisioner
