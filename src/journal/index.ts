export { fileBlobStore } from "./file-blob-store.ts";
export { type FileJournal, fileJournal } from "./file-journal.ts";
export type { TornLine } from "./journal-lines.ts";
export type { FileJournalOptions, JournalRecord } from "./journal-session.ts";
export { replayJournal } from "./replay-journal.ts";
export { type InspectedStatus, inspectJournal, type JournalInspection, type PendingCall } from "./inspect/inspect-journal.ts";
export { type BlobOptions, type BlobStore, withBlobs } from "./with-blobs.ts";
