// SPDX-License-Identifier: Apache-2.0
//
// What a volume costs in memory: the reason why objects are kept as pruned bytes.
#include <gtest/gtest.h>

#include "apis/core/v1/maps.h"
#include "apis/k8s.h"
#include "lib/async/scope.h"
#include "lib/async/virtual_loop.h"
#include "lib/kube/informer.h"
#include "test/support/fake_api_transport.h"
#include "test/support/kube_wire.h"

namespace csinative::kube {
namespace {

// A dynamically provisioned, bound pair as Kubernetes stores it.
constexpr std::string_view kUid = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";

void FillMetadata(meta::ObjectMeta* metadata, int i) {
  metadata->set_uid(StrCat(kUid.substr(0, 28), 10000000 + i));
  metadata->set_resourceversion(StrCat(1000000 + i));
  metadata->mutable_creationtimestamp()->set_seconds(1700000000 + i);
}

core::PersistentVolumeClaim ClaimNumber(int i) {
  core::PersistentVolumeClaim claim;
  FillMetadata(claim.mutable_metadata(), i);
  claim.mutable_metadata()->set_namespace_("production");
  claim.mutable_metadata()->set_name(StrCat("data-database-", i));
  auto* annotations = claim.mutable_metadata()->mutable_annotations();
  for (const char* key :
       {"pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller"}) {
    *apis::MutableEntry(annotations, key) = "yes";
  }
  for (const char* key : {"volume.beta.kubernetes.io/storage-provisioner",
                          "volume.kubernetes.io/storage-provisioner"}) {
    *apis::MutableEntry(annotations, key) = "ebs.csi.example.com";
  }
  *apis::MutableEntry(claim.mutable_metadata()->mutable_labels(), "app") = "database";
  claim.mutable_metadata()->add_finalizers("kubernetes.io/pvc-protection");
  claim.mutable_spec()->add_accessmodes("ReadWriteOnce");
  apis::MutableEntry(claim.mutable_spec()->mutable_resources()->mutable_requests(), "storage")
      ->set_string("10Gi");
  claim.mutable_spec()->set_volumename(StrCat("pvc-", claim.metadata().uid()));
  claim.mutable_spec()->set_storageclassname("standard");
  claim.mutable_spec()->set_volumemode("Filesystem");
  claim.mutable_status()->set_phase("Bound");
  claim.mutable_status()->add_accessmodes("ReadWriteOnce");
  apis::MutableEntry(claim.mutable_status()->mutable_capacity(), "storage")->set_string("10Gi");
  return claim;
}

core::PersistentVolume VolumeNumber(int i) {
  const core::PersistentVolumeClaim claim = ClaimNumber(i);
  core::PersistentVolume volume;
  FillMetadata(volume.mutable_metadata(), i);
  volume.mutable_metadata()->set_name(claim.spec().volumename());
  auto* annotations = volume.mutable_metadata()->mutable_annotations();
  *apis::MutableEntry(annotations, "pv.kubernetes.io/provisioned-by") = "ebs.csi.example.com";
  *apis::MutableEntry(annotations, "volume.kubernetes.io/provisioner-deletion-secret-name") = "";
  *apis::MutableEntry(annotations, "volume.kubernetes.io/provisioner-deletion-secret-namespace") =
      "";
  volume.mutable_metadata()->add_finalizers("kubernetes.io/pv-protection");
  volume.mutable_metadata()->add_finalizers("external-attacher/ebs-csi-example-com");
  core::PersistentVolumeSpec* spec = volume.mutable_spec();
  apis::MutableEntry(spec->mutable_capacity(), "storage")->set_string("10Gi");
  auto* csi = spec->mutable_persistentvolumesource()->mutable_csi();
  csi->set_driver("ebs.csi.example.com");
  csi->set_volumehandle(StrCat("vol-0123456789abcdef", i));
  csi->set_fstype("ext4");
  *apis::MutableEntry(csi->mutable_volumeattributes(),
                      "storage.kubernetes.io/csiProvisionerIdentity") =
      "1700000000000-8081-ebs.csi.example.com";
  spec->add_accessmodes("ReadWriteOnce");
  auto* reference = spec->mutable_claimref();
  reference->set_kind("PersistentVolumeClaim");
  reference->set_namespace_(claim.metadata().namespace_());
  reference->set_name(claim.metadata().name());
  reference->set_uid(claim.metadata().uid());
  reference->set_apiversion("v1");
  reference->set_resourceversion(claim.metadata().resourceversion());
  spec->set_persistentvolumereclaimpolicy("Delete");
  spec->set_storageclassname("standard");
  spec->set_volumemode("Filesystem");
  auto* term = spec->mutable_nodeaffinity()->mutable_required()->add_nodeselectorterms();
  auto* expression = term->add_matchexpressions();
  expression->set_key("topology.ebs.csi.example.com/zone");
  expression->set_operator_("In");
  expression->add_values("eu-central-1a");
  volume.mutable_status()->set_phase("Bound");
  return volume;
}

// The object as the server sends it: with 10 KiB of managedFields, which apis/ does not declare.
template <typename T>
std::string FrameWithManagedFields(T object) {
  object.mutable_metadata()
      ->GetReflection()
      ->MutableUnknownFields(object.mutable_metadata())
      ->AddLengthDelimited(17, std::string(10 * 1024, 'm'));
  return testing::Frame("ADDED", object);
}

class StoredSizeTest : public ::testing::Test {
 protected:
  // The bytes an informer holds for `count` objects.
  template <typename T, typename Make>
  size_t BytesFor(int count, Make make, const char* index,
                  typename Informer<T>::IndexFunction function) {
    testing::FakeApiTransport transport(loop_);
    testing::FakeStream stream = transport.AnswerStream();
    for (int i = 0; i < count; ++i) stream.Send(FrameWithManagedFields<T>(make(i)));
    stream.Send(testing::BookmarkFrame<T>("9999999", "true"));
    const std::unique_ptr<Client> client =
        *Client::Create(loop_, *random_, transport, {}, {.qps = -1});
    Informer<T> informer(loop_, *random_, *client, {});
    informer.AddIndex(index, std::move(function));
    async::Scope scope(loop_);
    scope.Spawn(informer.Run());
    scheduler_.Settle();
    EXPECT_TRUE(informer.synced());
    EXPECT_EQ(informer.size(), static_cast<size_t>(count));
    scope.Cancel();
    scheduler_.Settle();
    return informer.bytes();
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  std::unique_ptr<Random> random_ = NewSeededRandom(1);
};

TEST_F(StoredSizeTest, ClaimAndVolumeTogetherNeedAtMostOneAndAHalfKibibytes) {
  constexpr int kCount = 1000;
  const size_t claims = BytesFor<core::PersistentVolumeClaim>(
      kCount, ClaimNumber, "uid", [](const core::PersistentVolumeClaim& claim) {
        return std::vector<std::string>{claim.metadata().uid()};
      });
  const size_t volumes = BytesFor<core::PersistentVolume>(
      kCount, VolumeNumber, "class", [](const core::PersistentVolume& volume) {
        return std::vector<std::string>{volume.spec().storageclassname()};
      });
  RecordProperty("claim_bytes", static_cast<int>(claims / kCount));
  RecordProperty("volume_bytes", static_cast<int>(volumes / kCount));
  EXPECT_LE((claims + volumes) / kCount, 1536u)
      << "claim " << claims / kCount << ", volume " << volumes / kCount;
}

}  // namespace
}  // namespace csinative::kube
