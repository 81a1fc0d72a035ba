// SPDX-License-Identifier: Apache-2.0
//
// Clones, and the finalizer that keeps their source (provisioner 9.3, 14, 22.8, 22.12).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apis/core/v1/maps.h"
#include "cmd/provisioner/clone_source.h"
#include "lib/base/strings.h"
#include "test/support/oracle.h"
#include "test/unit/provisioner/world.h"

namespace csinative::provisioner {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using CreateRequest = ::csi::v1::CreateVolumeRequest;

constexpr char kCloning[] = "provisioner.storage.kubernetes.io/cloning-protection";

class CloneTest : public ::testing::Test {
 protected:
  CloneTest() {
    world_.features.clone_volume = true;
    world_.AddClass();
    source_uid_ = world_.AddClaim({.name = "src", .request = "1000", .extra_spec = ""});
    world_.Start();
    world_.Bind("pvc-" + source_uid_, {.name = "src"});
    world_.Settle();
    world_.driver().ClearCalls();
    world_.api().ClearLog();
  }
  ClaimSpec Clone(const std::string& name = "clone", const std::string& request = "1000") {
    return {.name = name,
            .request = request,
            .extra_spec = R"(,"dataSource":{"kind":"PersistentVolumeClaim","name":"src"})"};
  }
  // A clone in another namespace, for which nothing is granted yet.
  void StopAndAddCloneInFar() {
    world_.Stop();
    world_.config.cross_namespace_gate = true;
    world_.Add(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"far"}})");
    world_.AddClaim({.name = "clone",
                     .ns = "far",
                     .request = "1000",
                     .extra_spec = R"(,"dataSourceRef":{"kind":"PersistentVolumeClaim","name":"src",
                                       "namespace":"ns"})"});
  }
  std::vector<std::string> SourceFinalizers() {
    auto source = world_.Find<core::PersistentVolumeClaim>({"ns", "src"});
    if (!source) return {"gone"};
    return {source->metadata().finalizers().begin(), source->metadata().finalizers().end()};
  }
  void DeleteSource() { world_.RemoveClaim("src"); }

  World world_;
  std::string source_uid_;
};

TEST_F(CloneTest, SourceIsProtectedBeforeTheDriverIsAsked) {  // provisioner/22.8/1
  const std::string uid = world_.AddClaim(Clone());
  world_.Settle();
  EXPECT_THAT(world_.Writes(), ElementsAre("PUT namespaces/ns/persistentvolumeclaims/src",
                                           "POST persistentvolumes"));
  EXPECT_THAT(SourceFinalizers(), Contains(kCloning));
  const auto requests = world_.Requests<CreateRequest>(kCreateVolume);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].volume_content_source().volume().volume_id(), "test-volume-id");
  EXPECT_EQ(world_.Counter("controller_persistentvolumeclaim_provision_total",
                           {"sc", "PersistentVolumeClaim"}),
            1);
}

TEST_F(CloneTest, SecondCloneWritesNothingToTheSource) {
  world_.AddClaim(Clone());
  world_.Settle();
  world_.api().ClearLog();
  world_.AddClaim(Clone("clone-2"));
  world_.Settle();
  EXPECT_THAT(world_.Writes(), ElementsAre("POST persistentvolumes"));
}

TEST_F(CloneTest, UnusableSourceFailsWithoutTouchingIt) {  // provisioner/22.8/5, 6
  world_.AddClaim(Clone("small", "999"));
  world_.AddClaim(
      {.name = "lost",
       .extra_spec = R"(,"dataSource":{"kind":"PersistentVolumeClaim","name":"nowhere"})"});
  world_.Settle();
  EXPECT_THAT(world_.Calls(), IsEmpty());
  EXPECT_THAT(world_.Writes(), IsEmpty());
  EXPECT_THAT(SourceFinalizers(), Not(Contains(kCloning)));
  EXPECT_THAT(world_.Events(),
              Contains(HasSubstr("error getting handle for DataSource Type PersistentVolumeClaim "
                                 "by Name nowhere")));
}

TEST_F(CloneTest, AnswerWithoutContentSourceIsCleanedUp) {
  ::csi::v1::CreateVolumeResponse response;
  response.mutable_volume()->set_volume_id("empty");
  world_.driver().AnswerOnce(kCreateVolume, response);
  const std::string uid = world_.AddClaim(Clone());
  world_.Settle();
  EXPECT_THAT(world_.Calls(), ElementsAre("CreateVolume", "DeleteVolume"));
  EXPECT_THAT(world_.Events(), Contains(HasSubstr("content source missing")));
  EXPECT_TRUE(world_.controller().claim_sync().InProgress(uid));
}

TEST_F(CloneTest, SourceStaysWhileACloneIsPendingAndGoesWhenItIsBound) {
  const oracle::Row row("provisioner/22.12/2");
  world_.driver().Fail(kCreateVolume, RpcStatus(13, "later"));
  const ClaimSpec spec = Clone();
  const std::string uid = world_.AddClaim(spec);
  world_.Settle();
  ASSERT_THAT(SourceFinalizers(), Contains(kCloning));
  DeleteSource();
  world_.Advance(minutes(2));
  EXPECT_THAT(SourceFinalizers(), ElementsAre(kCloning));
  world_.Merge<core::PersistentVolumeClaim>({"ns", "clone"}, R"({"status":{"phase":"Bound"}})",
                                            "status");
  world_.Advance(milliseconds(100));
  EXPECT_THAT(SourceFinalizers(), ElementsAre("gone"));
}

TEST_F(CloneTest, SourceGoesWhenThePendingCloneIsDeleted) {  // field report 30
  world_.driver().Fail(kCreateVolume, RpcStatus(13, "later"));
  world_.AddClaim(Clone());
  world_.Settle();
  DeleteSource();
  world_.Advance(minutes(2));
  ASSERT_THAT(SourceFinalizers(), ElementsAre(kCloning));
  world_.RemoveClaim("clone");
  world_.Advance(milliseconds(100));
  EXPECT_THAT(SourceFinalizers(), ElementsAre("gone"));
}

TEST_F(CloneTest, SourceStaysWhileTheDriverClonesForADeletedClaim) {
  world_.driver().Fail(kCreateVolume, RpcStatus(4, "slow"));
  world_.AddClaim(Clone());
  world_.Settle();
  ASSERT_THAT(SourceFinalizers(), Contains(kCloning));
  DeleteSource();
  world_.RemoveClaim("clone");
  world_.Advance(minutes(10));
  EXPECT_THAT(SourceFinalizers(), ElementsAre(kCloning));
  world_.UseGoodDriver();
  // Up to the next attempt.
  for (int i = 0; i < 600 && SourceFinalizers() != std::vector<std::string>{"gone"}; ++i) {
    world_.Advance(seconds(1));
  }
  EXPECT_THAT(SourceFinalizers(), ElementsAre("gone"));
  const auto requests = world_.Requests<CreateRequest>(kCreateVolume);
  EXPECT_EQ(requests.front().SerializeAsString(), requests.back().SerializeAsString());
  // The end itself frees the source, not a later look.
  EXPECT_THAT(world_.Calls().back(), "CreateVolume");
  EXPECT_FALSE(world_.controller().claim_sync().IsCloning("ns/src"));
}

TEST_F(CloneTest, SourceGoesAsSoonAsTheCloneOfADeletedClaimHasEnded) {
  world_.driver().HandleOnce<CreateRequest, ::csi::v1::CreateVolumeResponse>(
      kCreateVolume,
      [](CreateRequest request, ::csi::v1::CreateVolumeResponse* response) -> async::Task<Status> {
        CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(seconds(4)));
        response->mutable_volume()->set_volume_id("v");
        *response->mutable_volume()->mutable_content_source() = request.volume_content_source();
        co_return Status();
      });
  world_.AddClaim(Clone());
  world_.Advance(milliseconds(100));  // the first call runs
  DeleteSource();
  world_.RemoveClaim("clone");
  world_.Advance(milliseconds(3800));
  EXPECT_THAT(SourceFinalizers(), ElementsAre(kCloning));
  world_.Advance(milliseconds(200));
  EXPECT_THAT(SourceFinalizers(), ElementsAre("gone"));
}

TEST_F(CloneTest, CloneThatGotAnotherVolumeDoesNotHoldItsSource) {
  world_.driver().Fail(kCreateVolume, RpcStatus(4, "slow"));
  const std::string uid = world_.AddClaim(Clone());
  world_.Settle();
  DeleteSource();
  world_.Merge<core::PersistentVolumeClaim>({"ns", "clone"}, R"({"spec":{"volumeName":"other"}})");
  world_.Merge<core::PersistentVolumeClaim>({"ns", "clone"}, R"({"status":{"phase":"Bound"}})",
                                            "status");
  world_.Advance(milliseconds(100));
  EXPECT_TRUE(world_.controller().claim_sync().InProgress(uid));
  EXPECT_THAT(SourceFinalizers(), ElementsAre("gone"));
}

TEST_F(CloneTest, SourceWithoutClonesIsFreedAtOnce) {
  const oracle::Row row("provisioner/22.12/1");
  world_.AddClaim(Clone());
  world_.Settle();
  world_.Merge<core::PersistentVolumeClaim>({"ns", "clone"}, R"({"status":{"phase":"Bound"}})",
                                            "status");
  DeleteSource();
  world_.Advance(milliseconds(100));
  EXPECT_THAT(SourceFinalizers(), ElementsAre("gone"));
}

// One look at the source, which is being deleted. Other claims are named after their phase, the one
// of another namespace has a source of the same name.
struct ReleaseCase {
  std::string row;
  std::vector<ClaimSpec> clones;
  bool has_finalizer = true;
  bool released = true;
  std::string names = "";  // who the error names
};

TEST(CloneProtectionOracle, SourceGoesWithTheLastPendingClone) {
  const auto clone = [](const std::string& name, const std::string& ns = "ns") {
    return ClaimSpec{
        .name = name,
        .ns = ns,
        .extra_spec = R"(,"dataSource":{"kind":"PersistentVolumeClaim","name":"src"})"};
  };
  const ReleaseCase kCases[] = {
      {.row = "provisioner/22.12/1", .clones = {clone("bound")}},
      {.row = "provisioner/22.12/2",
       .clones = {clone("pending")},
       .released = false,
       .names = "pending"},
      {.row = "provisioner/22.12/3",
       .clones = {clone("bound"), clone("pending")},
       .released = false,
       .names = "pending"},
      {.row = "provisioner/22.12/4", .clones = {clone("pending", "other")}},
      {.row = "provisioner/22.12/5", .clones = {}},
      {.row = "provisioner/22.12/6", .clones = {}, .has_finalizer = false, .released = false},
  };
  for (const ReleaseCase& c : kCases) {
    const oracle::Row row(c.row);
    World world;
    world.features.clone_volume = true;
    world.config.worker_threads = 0;
    world.config.clone_threads = 0;
    world.Add(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"other"}})");
    world.AddClass();
    world.AddClaim({.name = "src"});
    world.Merge<core::PersistentVolumeClaim>(
        {"ns", "src"}, StrCat(R"({"metadata":{"finalizers":["example.com/f")",
                              c.has_finalizer ? StrCat(",\"", kCloning, "\"") : "", "]}}"));
    world.Remove<core::PersistentVolumeClaim>({"ns", "src"});
    for (const ClaimSpec& spec : c.clones) {
      world.AddClaim(spec);
      if (spec.name != "bound") continue;
      world.Merge<core::PersistentVolumeClaim>({spec.ns, spec.name},
                                               R"({"status":{"phase":"Bound"}})", "status");
    }
    world.Start();
    CloneProtection protection(world.client(), world.controller().caches(), log::Logger(),
                               [](const std::string&) { return false; });
    const Status status = world.Wait(protection.Sync("ns/src"));
    EXPECT_EQ(status.ok(), c.names.empty()) << status.message();
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.names));
    EXPECT_EQ(world.Writes().size(), c.released ? 1u : 0u);
    const auto source = world.Find<core::PersistentVolumeClaim>({"ns", "src"});
    ASSERT_TRUE(source.has_value());
    EXPECT_EQ(HasCloneFinalizer(*source), c.has_finalizer && !c.released);
  }
}

TEST(CloneProtectionOracle, OnlySourcesOnTheirWayOutAreLookedAt) {
  const oracle::Row row("provisioner/22.12/7");
  core::PersistentVolumeClaim claim;
  claim.mutable_metadata()->add_finalizers(kCloning);
  EXPECT_FALSE(CloneProtection::Wants(claim));
  claim.mutable_metadata()->mutable_deletiontimestamp()->set_seconds(1);
  EXPECT_TRUE(CloneProtection::Wants(claim));
}

// Upstream does not see these clones (provisioner 23.5).
TEST_F(CloneTest, CloneOfAnotherNamespaceHoldsItsSource) {
  StopAndAddCloneInFar();
  world_.AddGrant("ns", R"({"group":"","kind":"PersistentVolumeClaim","namespace":"far"})",
                  R"({"group":"","kind":"PersistentVolumeClaim"})");
  world_.driver().Fail(kCreateVolume, RpcStatus(13, "later"));
  world_.Start();
  ASSERT_THAT(SourceFinalizers(), Contains(kCloning)) << Join(world_.Events(), "\n");
  DeleteSource();
  world_.Advance(minutes(2));
  EXPECT_THAT(SourceFinalizers(), ElementsAre(kCloning));
  world_.RemoveClaim("clone", "far");
  world_.Advance(milliseconds(100));
  EXPECT_THAT(SourceFinalizers(), ElementsAre("gone"));
}

TEST_F(CloneTest, CloneOfANamespaceThatGrantsNothingIsRefusedInUpstreamsWords) {
  StopAndAddCloneInFar();
  world_.Start();
  world_.Settle();
  // What was tried again shows as a count.
  EXPECT_THAT(world_.Events(), Contains(ContainsRegex(
                                   "ProvisioningFailed: accessing ns/src of PersistentVolumeClaim "
                                   "dataSource from far/clone isn't allowed( \\(x[0-9]+\\))?$")));
}

TEST_F(CloneTest, DriverWithoutCloningIsNotAsked) {  // provisioner/22.8/2
  world_.Stop();
  world_.features.clone_volume = false;
  world_.Start();
  world_.AddClaim(Clone());
  world_.Settle();
  EXPECT_THAT(world_.Calls(), IsEmpty());
  EXPECT_THAT(SourceFinalizers(), Not(Contains(kCloning)));
  EXPECT_THAT(world_.Events(), Contains(HasSubstr("CLONE_VOLUME")));
}

}  // namespace
}  // namespace csinative::provisioner
