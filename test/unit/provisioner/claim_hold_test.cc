// SPDX-License-Identifier: Apache-2.0
//
// Claims that are held while their volumes are being made (--hold-claims).
#include "cmd/provisioner/claim_hold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/unit/provisioner/report_fixture.h"

namespace csinative::provisioner {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using CreateRequest = ::csi::v1::CreateVolumeRequest;
using CreateResponse = ::csi::v1::CreateVolumeResponse;

// external-provisioner#486, asked for: the original loses the volume.
class HoldTest : public FieldReport {
 protected:
  HoldTest() {
    world_.config.hold_claims = true;
    world_.AddClass();
  }
  bool IsHeld() {
    const auto claim = world_.Find<core::PersistentVolumeClaim>({"ns", "claim"});
    return claim && apis::HasFinalizer(claim->metadata(), HoldFinalizer(kDriver));
  }
  bool ClaimExists() {
    return world_.Find<core::PersistentVolumeClaim>({"ns", "claim"}).has_value();
  }
};

TEST_F(HoldTest, ClaimIsHeldBeforeTheCallAndFreedOnceItsVolumeIsSaved) {
  bool held_in_time = false;
  world_.driver().HandleOnce<CreateRequest, CreateResponse>(
      kCreateVolume, [&](CreateRequest, CreateResponse* response) -> async::Task<Status> {
        CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(seconds(2)));
        held_in_time =
            apis::HasFinalizer(world_.controller().caches().claims().Get("ns/claim")->metadata(),
                               HoldFinalizer(kDriver));
        response->mutable_volume()->set_volume_id("v");
        co_return Status();
      });
  const std::string uid = world_.AddClaim();
  world_.Start();
  world_.Advance(seconds(5));
  EXPECT_TRUE(held_in_time);
  EXPECT_TRUE(Exists("pvc-" + uid));
  EXPECT_FALSE(IsHeld());
  EXPECT_THAT(world_.Writes(), ElementsAre("PUT namespaces/ns/persistentvolumeclaims/claim",
                                           "POST persistentvolumes",
                                           "PUT namespaces/ns/persistentvolumeclaims/claim"));
  EXPECT_EQ(Creates().size(), 1u);
}

TEST_F(HoldTest, ProcessThatDiesAfterTheAnswerLosesNothing) {
  world_.driver().HandleOnce<CreateRequest, CreateResponse>(
      kCreateVolume, [](CreateRequest, CreateResponse*) -> async::Task<Status> {
        co_return co_await async::Sleep(std::chrono::hours(1));  // the answer never arrives
      });
  const std::string uid = world_.AddClaim();
  world_.Start();
  world_.Stop();
  world_.RemoveClaim("claim");
  ASSERT_TRUE(ClaimExists());  // held
  world_.Start();
  world_.Settle();
  ASSERT_EQ(Creates().size(), 2u);
  EXPECT_EQ(Creates()[0].name(), Creates()[1].name());
  EXPECT_FALSE(ClaimExists());
  LoseClaim("pvc-" + uid);
  EXPECT_EQ(Deletes().size(), 1u);
  EXPECT_FALSE(Exists("pvc-" + uid));
}

TEST_F(HoldTest, ClaimThatFailedForGoodGoesAtOnce) {
  world_.driver().Fail(kCreateVolume, RpcStatus(13, "no"));
  world_.AddClaim();
  world_.Start();
  world_.Advance(minutes(3));
  EXPECT_TRUE(IsHeld());
  const size_t calls = Creates().size();
  world_.RemoveClaim("claim");
  world_.Settle();
  EXPECT_FALSE(ClaimExists());
  EXPECT_EQ(Creates().size(), calls);
}

TEST_F(HoldTest, InfeasibleClaimGoesAtOnce) {
  world_.driver().Fail(kCreateVolume, RpcStatus(3, "never"));
  world_.AddClaim();
  world_.Start();
  world_.RemoveClaim("claim");
  world_.Settle();
  EXPECT_FALSE(ClaimExists());
  EXPECT_EQ(Creates().size(), 1u);
}

TEST_F(HoldTest, ClaimWhoseVolumeMayExistStaysUntilThatIsKnown) {
  world_.driver().Fail(kCreateVolume, RpcStatus(4, "slow"));
  world_.AddClaim();
  world_.Start();
  EXPECT_EQ(Creates().size(), 1u);  // the finalizer is no change that is worth a try
  world_.RemoveClaim("claim");
  world_.Advance(minutes(10));
  EXPECT_TRUE(ClaimExists());
  world_.UseGoodDriver();
  world_.Advance(minutes(10));
  EXPECT_FALSE(ClaimExists());
  EXPECT_TRUE(world_.OnlyVolume().has_value());
}

TEST_F(HoldTest, ClaimWithoutANodeThatAPredecessorHeldGoes) {
  AddZones();
  world_.AddClass({.name = "late", .binding_mode = "WaitForFirstConsumer"});
  world_.driver().FailOnce(kCreateVolume, RpcStatus(8, "full"));
  world_.AddClaim({.klass = "late", .selected_node = "z1a"});
  world_.Start();
  world_.Advance(seconds(3));
  ASSERT_FALSE(HasSelectedNodeNow());
  ASSERT_TRUE(IsHeld());
  world_.Stop();
  world_.Start();
  world_.RemoveClaim("claim");
  world_.Settle();
  EXPECT_FALSE(ClaimExists());
}

TEST_F(HoldTest, ClaimOnItsWayOutNeedsNeitherClassNorSecret) {
  world_.AddClass(
      {.name = "secret", .parameters = R"({"csi.storage.k8s.io/provisioner-secret-name":"s",
                       "csi.storage.k8s.io/provisioner-secret-namespace":"ns"})"});
  world_.AddSecret("ns", "s", "k", "dg==");
  world_.driver().FailOnce(kCreateVolume, RpcStatus(4, "slow"));
  world_.AddClaim({.klass = "secret"});
  world_.Start();
  world_.Remove<core::Secret>({"ns", "s"});
  world_.Remove<storage::StorageClass>({"", "secret"});
  world_.RemoveClaim("claim");
  world_.Advance(seconds(3));
  ASSERT_EQ(Creates().size(), 2u);
  EXPECT_EQ(Creates()[0].SerializeAsString(), Creates()[1].SerializeAsString());
  EXPECT_FALSE(ClaimExists());
  EXPECT_TRUE(world_.OnlyVolume().has_value());
}

// The driver was not asked by this process: a node that is gone says nothing about the volume.
TEST_F(HoldTest, NodeThatIsGoneAfterARestartDoesNotFreeTheClaim) {
  AddZones();
  world_.AddClass({.name = "late", .binding_mode = "WaitForFirstConsumer"});
  world_.driver().HandleOnce<CreateRequest, CreateResponse>(
      kCreateVolume, [](CreateRequest, CreateResponse*) -> async::Task<Status> {
        co_return co_await async::Sleep(std::chrono::hours(1));  // the answer never arrives
      });
  const std::string uid = world_.AddClaim({.klass = "late", .selected_node = "z1a"});
  world_.Start();
  world_.Stop();
  RemoveNode("z1a");
  world_.driver().Fail(kCreateVolume, RpcStatus(4, "slow"));
  world_.Start();
  world_.Settle();
  ASSERT_FALSE(HasSelectedNodeNow());
  ASSERT_EQ(Creates().size(), 1u);
  world_.RemoveClaim("claim");
  world_.Advance(minutes(1));
  EXPECT_TRUE(ClaimExists());
  world_.UseGoodDriver();
  world_.Advance(minutes(10));
  EXPECT_FALSE(ClaimExists());
  EXPECT_TRUE(Exists("pvc-" + uid));
  EXPECT_EQ(Creates().back().name(), Creates().front().name());
}

TEST_F(HoldTest, GrantsThatCannotBeReadYetDoNotFreeTheClaim) {
  world_.features.clone_volume = true;
  world_.config.cross_namespace_gate = true;
  world_.Add(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"far"}})");
  world_.AddGrant("far", R"({"group":"","kind":"PersistentVolumeClaim","namespace":"ns"})",
                  R"({"group":"","kind":"PersistentVolumeClaim"})");
  const ClaimSpec source{.name = "src", .ns = "far"};
  const std::string source_uid = world_.AddClaim(source);
  world_.Start();
  world_.Bind("pvc-" + source_uid, source);
  world_.Settle();
  world_.driver().HandleOnce<CreateRequest, CreateResponse>(
      kCreateVolume, [](CreateRequest, CreateResponse*) -> async::Task<Status> {
        co_return co_await async::Sleep(std::chrono::hours(1));  // the answer never arrives
      });
  const std::string uid = world_.AddClaim(
      {.extra_spec = R"(,"dataSourceRef":{"kind":"PersistentVolumeClaim","name":"src",
                         "namespace":"far"})"});
  world_.Settle();
  world_.Stop();
  ASSERT_TRUE(IsHeld());
  const size_t calls = Creates().size();
  bool readable = false;
  world_.api().set_fault_hook([&](const apiserver::RequestInfo& info) {
    apiserver::Fault fault;
    if (info.resource == "referencegrants" && !readable) fault.code = 403;
    return fault;
  });
  world_.Start();
  world_.RemoveClaim("claim");
  world_.Advance(minutes(1));
  EXPECT_TRUE(ClaimExists());
  EXPECT_EQ(Creates().size(), calls);
  readable = true;
  world_.Advance(minutes(10));
  EXPECT_FALSE(ClaimExists());
  EXPECT_EQ(Creates().size(), calls + 1);
  EXPECT_TRUE(Exists("pvc-" + uid));
}

TEST_F(HoldTest, ClaimsOfOthersAreNotTouched) {
  world_.AddClaim(
      {.name = "populated", .extra_spec = R"(,"dataSourceRef":{"apiGroup":"my.example.io",
                                     "kind":"MyPopulator","name":"p"})"});
  world_.AddClaim({.name = "foreign", .provisioner = "other"});
  world_.Start();
  world_.Advance(minutes(1));
  EXPECT_THAT(world_.Writes(), IsEmpty());
}

TEST_F(HoldTest, FinalizerOfAProcessThatHeldIsTakenOffByOneThatDoesNot) {
  world_.driver().FailOnce(kCreateVolume, RpcStatus(13, "no"));
  world_.AddClaim();
  world_.Start();
  ASSERT_TRUE(IsHeld());
  world_.Stop();
  world_.config.hold_claims = false;
  world_.Start();
  world_.Advance(seconds(3));
  EXPECT_TRUE(world_.OnlyVolume().has_value());
  EXPECT_FALSE(IsHeld());
}

}  // namespace
}  // namespace csinative::provisioner
