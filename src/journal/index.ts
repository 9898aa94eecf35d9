// The entry `turnwright/journal`: a journal in a file, and replays.

export { type FileJournal, fileJournal } from "./file/file-journal.ts";
export type { TornLine } from "./file/journal-lines.ts";
export type { FileJournalOptions, JournalRecord } from "./file/journal-session.ts";
export { replayJournal } from "./replay-journal.ts";
