// The entry `turnwright/journal`: a journal in a file, replays, and reading a journal without running anything.

export { type FileJournal, fileJournal } from "../journal/file/file-journal.ts";
export type { TornLine } from "../journal/file/journal-lines.ts";
export type { FileJournalOptions, JournalRecord } from "../journal/file/journal-session.ts";
export { replayJournal } from "../journal/replay-journal.ts";
export { type InspectedStatus, inspectJournal, type JournalInspection } from "./inspect-journal.ts";
export type { PendingCall } from "./pending-call.ts";
