// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/patches.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string>

#include "apis/core/v1/maps.h"
#include "apis/meta/v1/time.h"
#include "lib/base/strings.h"
#include "lib/kube/leader_election.h"
#include "test/support/oracle.h"

namespace csinative::attacher {
namespace {

constexpr char kOurs[] = "external-attacher/ebs-csi-aws-com";
const WallTime kNow{std::chrono::seconds(1700000000)};

meta::ObjectMeta With(std::initializer_list<const char*> finalizers) {
  meta::ObjectMeta metadata;
  for (const char* finalizer : finalizers) metadata.add_finalizers(finalizer);
  return metadata;
}

struct NameEntry {
  std::string row;  // of the oracle
  std::string driver;
  std::string expected;
};

TEST(FinalizerTest, NameIsTheSanitisedDriver) {  // attacher 9.1
  const NameEntry kEntries[] = {
      {"attacher/15.10/4", "no-Change", "external-attacher/no-Change"},
      {"attacher/15.10/5", "s!a@n#i$t(i%z^e&d*", "external-attacher/s-a-n-i-t-i-z-e-d-X"},
  };
  for (const NameEntry& entry : kEntries) {
    const oracle::Row row(entry.row);
    EXPECT_EQ(FinalizerOf(entry.driver), entry.expected);
  }
  EXPECT_EQ(FinalizerOf("ebs.csi.aws.com"), kOurs);
  EXPECT_EQ(FinalizerOf("trailing\\"), "external-attacher/trailing-X");
}

TEST(FinalizerTest, WhatIsNoLetterOrDigitBecomesADash) {
  const NameEntry kEntries[] = {
      {"attacher/15.10/1", "no-Change", "no-Change"},
      {"attacher/15.10/2", "not!allowed/characters", "not-allowed-characters"},
      {"attacher/15.10/3", "trailing\\", "trailing-X"},
  };
  for (const NameEntry& entry : kEntries) {
    const oracle::Row row(entry.row);
    EXPECT_EQ(kube::SanitizeLeaseName(entry.driver), entry.expected);
  }
}

struct AddEntry {
  std::string row;  // of the oracle
  std::initializer_list<const char*> finalizers;
  std::string expected;
};

TEST(VolumePatchTest, FinalizerIsAdded) {
  const AddEntry kEntries[] = {
      // If there is still none.
      {"attacher/15.4/1",
       {},
       R"([{"op":"test","path":"/metadata/finalizers","value":null},)"
       R"({"op":"add","path":"/metadata/finalizers",)"
       R"("value":["external-attacher/ebs-csi-aws-com"]}])"},
      // Behind others, whatever they are by now.
      {"attacher/15.4/3",
       {"a", "b"},
       R"([{"op":"add","path":"/metadata/finalizers/-",)"
       R"("value":"external-attacher/ebs-csi-aws-com"}])"},
  };
  for (const AddEntry& entry : kEntries) {
    const oracle::Row row(entry.row);
    EXPECT_EQ(AddVolumeFinalizer(With(entry.finalizers), kOurs), entry.expected);
  }
}

struct RemovalEntry {
  std::string row;  // of the oracle
  std::initializer_list<const char*> finalizers;
  std::optional<int> index;  // nothing: an error
};

TEST(VolumePatchTest, RemovalChecksWhatItRemoves) {
  const RemovalEntry kEntries[] = {
      {"attacher/15.4/4", {kOurs}, 0},           {"attacher/15.4/4", {kOurs, "a", "b"}, 0},
      {"attacher/15.4/5", {"a", kOurs, "b"}, 1}, {"attacher/15.4/6", {"a", kOurs}, 1},
      {"attacher/15.4/7", {"a", "b"}, {}},       {"attacher/15.4/7", {}, {}},
  };
  for (const RemovalEntry& entry : kEntries) {
    const oracle::Row row(entry.row);
    const auto removed = RemoveVolumeFinalizer(With(entry.finalizers), kOurs);
    ASSERT_EQ(removed.ok(), entry.index.has_value());
    if (!entry.index) continue;
    EXPECT_EQ(*removed,
              StrCat(R"([{"op":"test","path":"/metadata/finalizers/)", *entry.index,
                     R"(","value":"external-attacher/ebs-csi-aws-com"},)",
                     R"({"op":"remove","path":"/metadata/finalizers/)", *entry.index, R"("}])"));
  }
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

TEST(AttachmentPatchTest, FinalizersAreThoseOfTheVersionThatWasSeen) {
  meta::ObjectMeta metadata = With({"other"});
  metadata.set_resourceversion("7");
  apis::SetEntry(metadata.mutable_annotations(), "csi.alpha.kubernetes.io/node-id", "n");
  EXPECT_EQ(PrepareAttachment(metadata, kOurs, "n").value(),
            R"({"metadata":{"finalizers":["other","external-attacher/ebs-csi-aws-com"],)"
            R"("resourceVersion":"7"}})");
  metadata = With({kOurs});
  metadata.set_resourceversion("8");
  EXPECT_EQ(RemoveAttachmentFinalizer(metadata, kOurs),
            R"({"metadata":{"finalizers":null,"resourceVersion":"8"}})");
  // An annotation replaces nothing of others.
  EXPECT_EQ(PrepareAttachment(metadata, kOurs, "n").value(),
            R"({"metadata":{"annotations":{"csi.alpha.kubernetes.io/node-id":"n"}}})");
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

TEST(StatusPatchTest, ContextThatShrinksLosesItsKeys) {
  const oracle::Row row("attacher/15.11/7");
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

TEST(StatusPatchTest, ErrorMayEndTheAttachment) {
  storage::VolumeAttachmentStatus status;
  status.set_attached(true);
  const OperationError error{.message = "m", .time = kNow, .no_longer_attached = true};
  EXPECT_EQ(SaveError(status, error),
            R"({"status":{"attachError":{"message":"m","time":"2023-11-14T22:13:20Z"},)"
            R"("attached":false}})");
}

TEST(StatusPatchTest, LongMessageIsCutBetweenCharacters) {
  const std::string message = std::string(1023, 'x') + "\u00e9" + "tail";
  const std::string body = SaveError({}, {.message = message, .time = kNow});
  EXPECT_NE(body.find("\"" + std::string(1023, 'x') + "\""), std::string::npos);
}

}  // namespace
}  // namespace csinative::attacher
