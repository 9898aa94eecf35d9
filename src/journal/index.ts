export { fileBlobStore } from "./file-blob-store.ts";
export { type FileJournal, fileJournal } from "./file-journal.ts";
export type { JournalRecord } from "./journal-session.ts";
export { replayJournal } from "./replay-journal.ts";
export { inspectJournal, type JournalInspection } from "./inspect/inspect-journal.ts";
export { type BlobStore, withBlobs } from "./with-blobs.ts";
