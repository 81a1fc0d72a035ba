// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/patches.h"

#include <gtest/gtest.h>

#include "apis/core/v1/maps.h"
#include "apis/meta/v1/time.h"

namespace csinative::attacher {
namespace {

constexpr char kOurs[] = "external-attacher/ebs-csi-aws-com";
const WallTime kNow{std::chrono::seconds(1700000000)};

meta::ObjectMeta With(std::initializer_list<const char*> finalizers) {
  meta::ObjectMeta metadata;
  for (const char* finalizer : finalizers) metadata.add_finalizers(finalizer);
  return metadata;
}

TEST(FinalizerTest, NameIsTheSanitisedDriver) {  // attacher 9.1, 15.10
  EXPECT_EQ(FinalizerOf("no-Change"), "external-attacher/no-Change");
  EXPECT_EQ(FinalizerOf("ebs.csi.aws.com"), kOurs);
  EXPECT_EQ(FinalizerOf("trailing\\"), "external-attacher/trailing-X");
  EXPECT_EQ(FinalizerOf("s!a@n#i$t(i%z^e&d*"), "external-attacher/s-a-n-i-t-i-z-e-d-X");
}

// attacher 15.4
TEST(VolumePatchTest, FirstFinalizerIsAddedIfThereIsStillNone) {
  EXPECT_EQ(AddVolumeFinalizer(With({}), kOurs),
            R"([{"op":"test","path":"/metadata/finalizers","value":null},)"
            R"({"op":"add","path":"/metadata/finalizers",)"
            R"("value":["external-attacher/ebs-csi-aws-com"]}])");
}

TEST(VolumePatchTest, FurtherFinalizerIsAppended) {
  EXPECT_EQ(AddVolumeFinalizer(With({"a", "b"}), kOurs),
            R"([{"op":"add","path":"/metadata/finalizers/-",)"
            R"("value":"external-attacher/ebs-csi-aws-com"}])");
}

TEST(VolumePatchTest, RemovalChecksWhatItRemoves) {
  const auto removed = [](const char* index) {
    return std::string(R"([{"op":"test","path":"/metadata/finalizers/)") + index +
           R"(","value":"external-attacher/ebs-csi-aws-com"},)" +
           R"({"op":"remove","path":"/metadata/finalizers/)" + index + R"("}])";
  };
  EXPECT_EQ(RemoveVolumeFinalizer(With({kOurs}), kOurs).value(), removed("0"));
  EXPECT_EQ(RemoveVolumeFinalizer(With({kOurs, "a", "b"}), kOurs).value(), removed("0"));
  EXPECT_EQ(RemoveVolumeFinalizer(With({"a", kOurs, "b"}), kOurs).value(), removed("1"));
  EXPECT_EQ(RemoveVolumeFinalizer(With({"a", kOurs}), kOurs).value(), removed("1"));
  EXPECT_FALSE(RemoveVolumeFinalizer(With({"a", "b"}), kOurs).ok());
  EXPECT_FALSE(RemoveVolumeFinalizer(With({}), kOurs).ok());
}

TEST(AttachmentPatchTest, OnlyWhatDiffersIsSent) {
  meta::ObjectMeta metadata = With({kOurs});
  apis::SetEntry(metadata.mutable_annotations(), "csi.alpha.kubernetes.io/node-id", "old");
  EXPECT_EQ(PrepareAttachment(metadata, kOurs, "new").value(),
            R"({"metadata":{"annotations":{"csi.alpha.kubernetes.io/node-id":"new"}}})");
  EXPECT_FALSE(PrepareAttachment(metadata, kOurs, "old").has_value());
  metadata.clear_finalizers();
  EXPECT_EQ(PrepareAttachment(metadata, kOurs, "old").value(),
            R"({"metadata":{"finalizers":["external-attacher/ebs-csi-aws-com"]}})");
}

TEST(AttachmentPatchTest, EmptyNodeIdIsRecordedToo) {
  EXPECT_EQ(PrepareAttachment(With({kOurs}), kOurs, "").value(),
            R"({"metadata":{"annotations":{"csi.alpha.kubernetes.io/node-id":""}}})");
}

TEST(AttachmentPatchTest, OtherFinalizersStay) {
  EXPECT_EQ(RemoveAttachmentFinalizer(With({kOurs}), kOurs), R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(RemoveAttachmentFinalizer(With({kOurs, "other"}), kOurs),
            R"({"metadata":{"finalizers":["other"]}})");
}

// attacher 10
TEST(StatusPatchTest, AttachedClearsItsError) {
  storage::VolumeAttachmentStatus status;
  EXPECT_EQ(MarkAttached(status, {}), R"({"status":{"attached":true}})");
  EXPECT_EQ(MarkAttached(status, {{"k", "v"}}),
            R"({"status":{"attached":true,"attachmentMetadata":{"k":"v"}}})");
  status.mutable_attacherror()->set_message("x");
  status.mutable_detacherror()->set_message("x");
  EXPECT_EQ(MarkAttached(status, {}), R"({"status":{"attachError":null,"attached":true}})");
  status.set_attached(true);
  EXPECT_EQ(MarkAttached(status, {}), R"({"status":{"attachError":null}})");
}

TEST(StatusPatchTest, RepeatedAttachIsAnEmptyPatch) {
  storage::VolumeAttachmentStatus status;
  status.set_attached(true);
  apis::SetEntry(status.mutable_attachmentmetadata(), "k", "v");
  EXPECT_EQ(MarkAttached(status, {{"k", "v"}}), "{}");
}

TEST(StatusPatchTest, ContextThatShrinksLosesItsKeys) {  // attacher 15.11
  storage::VolumeAttachmentStatus status;
  status.set_attached(true);
  apis::SetEntry(status.mutable_attachmentmetadata(), "a", "1");
  apis::SetEntry(status.mutable_attachmentmetadata(), "b", "2");
  EXPECT_EQ(MarkAttached(status, {{"b", "3"}}),
            R"({"status":{"attachmentMetadata":{"a":null,"b":"3"}}})");
  EXPECT_EQ(MarkAttached(status, {}), R"({"status":{"attachmentMetadata":null}})");
}

TEST(StatusPatchTest, DetachedClearsItsErrorAndTheMetadata) {
  storage::VolumeAttachmentStatus status;
  EXPECT_EQ(MarkDetached(status), "{}");
  status.set_attached(true);
  EXPECT_EQ(MarkDetached(status), R"({"status":{"attached":false}})");
  status.mutable_attacherror()->set_message("x");
  status.mutable_detacherror()->set_message("x");
  apis::SetEntry(status.mutable_attachmentmetadata(), "k", "v");
  EXPECT_EQ(MarkDetached(status),
            R"({"status":{"attached":false,"attachmentMetadata":null,"detachError":null}})");
}

TEST(StatusPatchTest, ErrorIsTheDifferenceToTheLast) {
  storage::VolumeAttachmentStatus status;
  OperationError error{.message = "a <b>", .time = kNow, .code = 8};
  EXPECT_EQ(SaveError(status, error),
            R"({"status":{"attachError":{"errorCode":8,"message":"a \u003cb\u003e",)"
            R"("time":"2023-11-14T22:13:20Z"}}})");
  status.mutable_attacherror()->set_message("a <b>");
  status.mutable_attacherror()->set_errorcode(8);
  *status.mutable_attacherror()->mutable_time() = apis::MakeTime(kNow);
  EXPECT_EQ(SaveError(status, error), "{}");
  error.time += std::chrono::seconds(1);
  EXPECT_EQ(SaveError(status, error),
            R"({"status":{"attachError":{"time":"2023-11-14T22:13:21Z"}}})");
  error.code.reset();
  EXPECT_EQ(SaveError(status, error),
            R"({"status":{"attachError":{"errorCode":null,"time":"2023-11-14T22:13:21Z"}}})");
  error.kind = OperationError::Kind::kDetach;
  EXPECT_EQ(SaveError(status, error), R"({"status":{"detachError":{"message":"a \u003cb\u003e",)"
                                      R"("time":"2023-11-14T22:13:21Z"}}})");
}

TEST(StatusPatchTest, LongMessageIsCutBetweenCharacters) {
  const std::string message = std::string(1023, 'x') + "\u00e9" + "tail";
  const std::string body = SaveError({}, {.message = message, .time = kNow});
  EXPECT_NE(body.find("\"" + std::string(1023, 'x') + "\""), std::string::npos);
}

}  // namespace
}  // namespace csinative::attacher
