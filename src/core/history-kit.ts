// Internal exports of the core for the functions that convert histories. These exports have a file of their own, so that other
// bundles do not include them.

export { checkMessages } from "./loop/state/check-messages.ts";
export { findLostMessages, keepFitting, type LostContent, type Piece } from "../shared/history/find-lost.ts";
export {
  addMetadata,
  copyHistory,
  FieldReader,
  HistoryDraft,
  type HistoryProvider,
  historyProviderCheck,
  type PieceWriter,
  type ReadHistory,
  toMediaPart,
  toReadResult,
} from "../shared/history/read-history.ts";
